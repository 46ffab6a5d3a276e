package xlsx

// stringTable keeps the texts that cells share, in blocks of memory that never move, because a slice
// that grows needs twice its size while it is copied. The zero value is empty.
type stringTable struct {
	blocks [][]byte
	ends   [][]uint32 // where each text ends
	count  int
	size   uint32
}

const (
	maxStrings     = 4 << 20  // texts
	maxStringBytes = 48 << 20 // bytes of all texts
	blockBytes     = 1 << 20
	blockEnds      = 64 << 10
)

// add appends a text. It returns false if the table is full.
func (t *stringTable) add(text string) bool {
	if t.count >= maxStrings || int(t.size)+len(text) > maxStringBytes {
		return false
	}
	t.size += uint32(len(text))
	for len(text) > 0 {
		if n := len(t.blocks); n == 0 || len(t.blocks[n-1]) == blockBytes {
			t.blocks = append(t.blocks, make([]byte, 0, blockBytes))
		}
		last := &t.blocks[len(t.blocks)-1]
		n := min(len(text), blockBytes-len(*last))
		*last = append(*last, text[:n]...)
		text = text[n:]
	}
	if t.count%blockEnds == 0 {
		t.ends = append(t.ends, make([]uint32, 0, blockEnds))
	}
	last := &t.ends[len(t.ends)-1]
	*last = append(*last, t.size)
	t.count++
	return true
}

// get returns text i, or "" if there is none.
func (t *stringTable) get(i int) string {
	if i < 0 || i >= t.count {
		return ""
	}
	from, to := uint32(0), t.ends[i/blockEnds][i%blockEnds]
	if i > 0 {
		from = t.ends[(i-1)/blockEnds][(i-1)%blockEnds]
	}
	var text []byte
	for from < to {
		block := t.blocks[from/blockBytes]
		part := block[from%blockBytes : min(uint32(len(block)), from%blockBytes+to-from)]
		if text == nil && from+uint32(len(part)) == to {
			return string(part)
		}
		text = append(text, part...)
		from += uint32(len(part))
	}
	return string(text)
}
