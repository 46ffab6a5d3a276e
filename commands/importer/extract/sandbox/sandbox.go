// Package sandbox drops all rights of a process that it does not need to read one file:
// its environment, its files, the network, other processes, and memory and processor
// time beyond a limit. The kernel enforces them as far as it can; Report lists which are in
// force. It imports no other package of this module.
package sandbox

import "strings"

// Rules are the limits that differ between processes.
type Rules struct {
	Memory   int64 // most bytes of writable memory; 0 means no limit
	Reserved int64 // bytes of it that are allocated, but not touched yet
}

// Report lists the measures that are in force in a process after it entered its sandbox,
// and those that are not, with the reason.
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

// Note adds a measure to Holds if err is nil, and otherwise, with the reason, to Lacks.
func (r *Report) Note(measure string, err error) {
	if err == nil {
		r.Holds = append(r.Holds, measure)
		return
	}
	r.Lacks = append(r.Lacks, measure+" ("+strings.Join(strings.Fields(err.Error()), " ")+")")
}
