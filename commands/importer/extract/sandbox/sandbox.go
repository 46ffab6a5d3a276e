// Package sandbox removes from a process what it does not need to read a file: its
// environment, access to files, the network and other processes, and memory and CPU time
// above a limit. Report lists which of these measures the kernel enforces. The package
// imports no other package of this module.
package sandbox

import "strings"

// Rules are the limits that differ between processes.
type Rules struct {
	Memory   int64 // bytes of writable memory; 0 means no limit
	Reserved int64 // bytes of Memory that are allocated but not touched yet
	// Program is the only program that the process may execute; nil means none.
	Program *Program
}

// Program is a program that a sandboxed process may execute.
type Program struct {
	Path  string   // absolute path of the program
	Reads []string // absolute paths of the files that the program may read, such as its libraries and its data
	// Loader is the path of the dynamic linker that the system executes for the program; ""
	// if the program is linked statically.
	Loader string
}

// Report lists the measures that are in force in a sandboxed process, and those that are not,
// with the reason.
type Report struct {
	Holds, Lacks []string
}

// String returns the report as a single line.
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

// Note adds a measure to Holds if err is nil, and otherwise to Lacks, with err as the reason.
func (r *Report) Note(measure string, err error) {
	if err == nil {
		r.Holds = append(r.Holds, measure)
		return
	}
	r.Lacks = append(r.Lacks, measure+" ("+strings.Join(strings.Fields(err.Error()), " ")+")")
}
