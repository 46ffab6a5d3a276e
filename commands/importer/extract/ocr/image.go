package ocr

import (
	"math"
)

// maxSkew is the largest angle, in degrees, by which a page is straightened.
const maxSkew = 15

// ink is what is printed on a page: a small copy of the page with only the dark pixels.
type ink struct {
	width, height int
	xs, ys        []float32 // positions of the dark pixels
	dark          bool      // most of the page is dark: the text is lighter than the page
}

// inkSide is the longer side, in pixels, of the small copy.
const inkSide = 800

// inkOf finds the dark pixels of a picture.
func inkOf(p *Picture) ink {
	step := max(1, (max(p.Width, p.Height)+inkSide-1)/inkSide)
	small := ink{width: p.Width / step, height: p.Height / step}
	if small.width == 0 || small.height == 0 {
		return small
	}
	// The mean of each square is compared with a threshold between the dark and the light.
	means := make([]byte, small.width*small.height)
	var histogram [256]int
	for y := range small.height {
		for x := range small.width {
			sum := 0
			for dy := range step {
				row := p.Pixels[(y*step+dy)*p.Width+x*step:][:step]
				for _, v := range row {
					sum += int(v)
				}
			}
			mean := byte(sum / (step * step))
			means[y*small.width+x] = mean
			histogram[mean]++
		}
	}
	limit := threshold(&histogram)
	count := 0
	for v := range limit {
		count += histogram[v]
	}
	small.dark = count > len(means)*6/10
	for i, v := range means {
		if (v < byte(limit)) != small.dark {
			small.xs = append(small.xs, float32(i%small.width))
			small.ys = append(small.ys, float32(i/small.width))
		}
	}
	return small
}

// threshold returns the value that separates a histogram best (Otsu's method), or 0 if all values
// are similar.
func threshold(histogram *[256]int) int {
	total, sum := 0, 0
	for v, n := range histogram {
		total += n
		sum += v * n
	}
	best, at := 0.0, 0
	below, sumBelow := 0, 0
	for v := range 255 {
		below += histogram[v]
		sumBelow += v * histogram[v]
		if below == 0 || below == total {
			continue
		}
		difference := float64(sumBelow)/float64(below) - float64(sum-sumBelow)/float64(total-below)
		if math.Abs(difference) < 24 {
			continue // noise of the paper
		}
		if between := float64(below) * float64(total-below) * difference * difference; between > best {
			best, at = between, v+1
		}
	}
	return at
}

// empty reports whether nothing is printed on the page.
func (i *ink) empty() bool { return len(i.xs) < 12 }

// skew returns by how many degrees the page must be turned clockwise for its lines to be
// horizontal; 0 if that is unclear. The rows of a straight page are either full or empty, so the
// differences between rows are largest.
func (i *ink) skew() float32 {
	xs, ys := i.xs, i.ys
	if len(xs) < 200 {
		return 0
	}
	if most := 60_000; len(xs) > most { // is enough
		every := (len(xs) + most - 1) / most
		var fewerX, fewerY []float32
		for n := 0; n < len(xs); n += every {
			fewerX, fewerY = append(fewerX, xs[n]), append(fewerY, ys[n])
		}
		xs, ys = fewerX, fewerY
	}
	rows := make([]int32, 2*(i.width+i.height)+4)
	sharpness := func(degrees float64) float64 {
		clear(rows)
		sin, cos := math.Sincos(degrees * math.Pi / 180)
		s, c := float32(sin), float32(cos)
		middle := float32(len(rows) / 2)
		for n := range xs {
			rows[int(ys[n]*c+xs[n]*s+middle)]++
		}
		sum := 0.0
		for n := 1; n < len(rows); n++ {
			d := float64(rows[n] - rows[n-1])
			sum += d * d
		}
		return sum
	}
	straight := sharpness(0)
	best, at := straight, 0.0
	for degrees := -float64(maxSkew); degrees <= maxSkew; degrees += 0.5 {
		if s := sharpness(degrees); s > best {
			best, at = s, degrees
		}
	}
	for degrees, from := at-0.4, at; degrees <= from+0.41; degrees += 0.1 {
		if s := sharpness(degrees); s > best && math.Abs(degrees) <= maxSkew {
			best, at = s, degrees
		}
	}
	if best < 1.1*straight || math.Abs(at) < 0.3 {
		return 0
	}
	return float32(at)
}

// turned returns the picture turned by quarter turns clockwise.
func (p Picture) turned(quarters int) Picture {
	out := p
	out.Pixels = make([]byte, len(p.Pixels))
	if quarters%2 == 1 {
		out.Width, out.Height = p.Height, p.Width
	}
	for y := range out.Height {
		row := out.Pixels[y*out.Width:][:out.Width]
		switch quarters {
		case 1:
			for x := range row {
				row[x] = p.Pixels[(p.Height-1-x)*p.Width+y]
			}
		case 2:
			from := p.Pixels[(p.Height-1-y)*p.Width:][:p.Width]
			for x := range row {
				row[x] = from[p.Width-1-x]
			}
		case 3:
			for x := range row {
				row[x] = p.Pixels[x*p.Width+p.Width-1-y]
			}
		default:
			copy(row, p.Pixels[y*p.Width:])
		}
	}
	return out
}

// rotated returns the picture rotated clockwise around its centre by some degrees. What was
// outside is white.
func (p Picture) rotated(degrees float32) Picture {
	out := p
	out.Pixels = make([]byte, len(p.Pixels))
	sin, cos := math.Sincos(float64(degrees) * math.Pi / 180)
	cx, cy := float64(p.Width)/2, float64(p.Height)/2
	const one = 1 << 16
	stepX, stepY := int(cos*one), int(-sin*one)
	for y := range p.Height {
		// The point of the original for the centre of the row's first pixel.
		dx, dy := 0.5-cx, float64(y)+0.5-cy
		u, v := int((cx+dx*cos+dy*sin-0.5)*one), int((cy-dx*sin+dy*cos-0.5)*one)
		row := out.Pixels[y*p.Width:][:p.Width]
		for x := range row {
			ux, vy := u>>16, v>>16
			if ux < 0 || vy < 0 || ux+1 >= p.Width || vy+1 >= p.Height {
				row[x] = 255
			} else {
				at := vy*p.Width + ux
				fx, fy := (u&(one-1))>>8, (v&(one-1))>>8
				upper := int(p.Pixels[at])*(256-fx) + int(p.Pixels[at+1])*fx
				lower := int(p.Pixels[at+p.Width])*(256-fx) + int(p.Pixels[at+p.Width+1])*fx
				row[x] = byte((upper*(256-fy) + lower*fy) >> 16)
			}
			u, v = u+stepX, v+stepY
		}
	}
	return out
}

// inverted returns the picture with black and white exchanged.
func (p Picture) inverted() Picture {
	out := p
	out.Pixels = make([]byte, len(p.Pixels))
	for i, v := range p.Pixels {
		out.Pixels[i] = 255 - v
	}
	return out
}

// rotatedBox returns the bounds of a box that is rotated clockwise around a point.
func rotatedBox(cx, cy, degrees, left, top, right, bottom float32) (l, t, r, b float32) {
	if degrees == 0 {
		return left, top, right, bottom
	}
	sin64, cos64 := math.Sincos(float64(degrees) * math.Pi / 180)
	sin, cos := float32(sin64), float32(cos64)
	// The middle of the box is rotated, and its height stays: the bounds of a long word that
	// is rotated would overlap the lines around it.
	first := true
	for _, x := range []float32{left, right} {
		dx, dy := x-cx, (top+bottom)/2-cy
		px, py := cx+dx*cos-dy*sin, cy+dx*sin+dy*cos
		if first {
			l, t, r, b, first = px, py, px, py, false
			continue
		}
		l, t, r, b = min(l, px), min(t, py), max(r, px), max(b, py)
	}
	half := (bottom - top) / 2
	return l, t - half, r, b + half
}
