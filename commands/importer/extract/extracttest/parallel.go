package extracttest

import (
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// InParallel calls read for every file, in one goroutine per core, and returns the elapsed time.
func InParallel(b *testing.B, files []string, read func(string) error) time.Duration {
	begun := time.Now()
	next := make(chan string)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for path := range next {
				if err := read(path); err != nil {
					b.Errorf("%s: %v", filepath.Base(path), err)
				}
			}
		})
	}
	for _, path := range files {
		next <- path
	}
	close(next)
	workers.Wait()
	return time.Since(begun)
}
