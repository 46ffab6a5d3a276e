// Package sandbox takes from a process whatever it does not need to read one
// file: its environment, its files, the network, other processes, and memory
// and processor time past a limit. What can be enforced is enforced by the
// kernel; Report says what holds. It imports nothing of ours.
package sandbox

import "strings"

// Rules are what differs from process to process.
type Rules struct {
	Memory   int64 // most bytes of memory that can be written; 0: no limit
	Reserved int64 // bytes of it that are allocated, but not touched yet
}

// Report says which measures hold in a process that entered its sandbox, and
// which do not, with the reason.
type Report struct {
	Holds, Lacks []string
}

// String returns the report as one line.
func (r Report) String() string {
	line := "holds: " + strings.Join(r.Holds, ", ")
	if len(r.Holds) == 0 {
		line = "holds: nothing"
	}
	if len(r.Lacks) > 0 {
		line += "; lacks: " + strings.Join(r.Lacks, ", ")
	}
	return line
}

// Note adds a measure to what holds, or, with the reason, to what does not.
func (r *Report) Note(measure string, err error) {
	if err == nil {
		r.Holds = append(r.Holds, measure)
		return
	}
	r.Lacks = append(r.Lacks, measure+" ("+strings.Join(strings.Fields(err.Error()), " ")+")")
}
