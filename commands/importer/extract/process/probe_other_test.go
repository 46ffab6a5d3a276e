//go:build !linux

package process

import (
	"os"
	"strings"
	"syscall"
)

const xcpu = syscall.SIGTERM // has no other here

func (p *Process) maxResident() int64 { return 0 }

func probe(string) string { return strings.Join(os.Environ(), " ") }
