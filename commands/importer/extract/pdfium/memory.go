package pdfium

import (
	"bytes"
	"math"
	"os"
	"runtime/metrics"
	"strconv"
)

// residentKiB returns how much memory this process holds, in KiB: what the
// system says, and where it says nothing, what Go's runtime says.
func residentKiB() int {
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(b); len(fields) > 1 {
			if pages, err := strconv.Atoi(string(fields[1])); err == nil {
				return pages * (os.Getpagesize() / 1024)
			}
		}
	}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int(min(sample[0].Value.Uint64()-sample[1].Value.Uint64(), math.MaxInt32)) / 1024
}
