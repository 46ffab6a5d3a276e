//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Enabled reports whether this build has failpoints.
const Enabled = true

var (
	chosen, times = parse(os.Getenv(Variable))
	reached       atomic.Int64
)

// parse reads the value of Variable.
func parse(text string) (p Point, times int64) {
	if text == "" {
		return "", 0
	}
	name, count, _ := strings.Cut(text, ":")
	times, err := strconv.ParseInt(count, 10, 64)
	if !slices.Contains(All, Point(name)) || err != nil || times < 1 {
		panic(fmt.Sprintf("%s=%s: write a point, a colon and a count from 1", Variable, text))
	}
	return Point(name), times
}

// Here marks a failpoint. If Variable selects p, and p is reached for the selected time,
// Here kills the process and does not return.
func Here(p Point) {
	if p != chosen || reached.Add(1) != times {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // until the signal arrives
}
