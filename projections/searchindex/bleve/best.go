package bleve

import "sync"

// scores contains the scores of the passages of one segment. It comes from a pool, and
// has to be released.
type scores struct {
	scores  []float64
	touched []uint32 // the passages with a score, in no particular order
}

var scorePool = sync.Pool{New: func() any { return new(scores) }}

func newScores(n int) *scores {
	s := scorePool.Get().(*scores)
	if cap(s.scores) < n {
		s.scores = make([]float64, n)
	}
	s.scores = s.scores[:n]
	return s
}

func (s *scores) add(number uint32, score float64) {
	if s.scores[number] == 0 {
		s.touched = append(s.touched, number)
	}
	s.scores[number] += score
}

func (s *scores) release() {
	for _, number := range s.touched {
		s.scores[number] = 0
	}
	s.touched = s.touched[:0]
	scorePool.Put(s)
}

// offer keeps c if it is among the best candidates so far.
func (r *ranking) offer(c candidate) error {
	if len(r.best) < r.keep {
		r.best = append(r.best, c)
		for i := len(r.best) - 1; i > 0; {
			parent := (i - 1) / 2
			worse, err := r.worse(i, parent)
			if err != nil {
				return err
			}
			if !worse {
				break
			}
			r.best[i], r.best[parent] = r.best[parent], r.best[i]
			i = parent
		}
		return nil
	}
	if c.score < r.best[0].score {
		return nil
	}
	if c.score == r.best[0].score {
		mine, err := r.id(&c)
		if err != nil {
			return err
		}
		if worst, err := r.id(&r.best[0]); err != nil || mine > worst {
			return err
		}
	}
	r.best[0] = c
	return r.sink()
}

// sink restores the order of the heap after its first candidate was replaced.
func (r *ranking) sink() error {
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(r.best); child++ {
			worse, err := r.worse(child, worst)
			if err != nil {
				return err
			}
			if worse {
				worst = child
			}
		}
		if worst == i {
			return nil
		}
		r.best[i], r.best[worst] = r.best[worst], r.best[i]
		i = worst
	}
}

// worse reports whether candidate i ranks below j.
func (r *ranking) worse(i, j int) (bool, error) {
	a, b := &r.best[i], &r.best[j]
	if a.score != b.score {
		return a.score < b.score, nil
	}
	idA, err := r.id(a)
	if err != nil {
		return false, err
	}
	idB, err := r.id(b)
	return idA > idB, err
}
