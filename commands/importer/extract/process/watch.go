package process

import (
	"time"

	"annals/commands/importer/extract/sandbox"
)

const (
	// fairTime is the CPU time of a request after which the priority of its process is
	// lowered.
	fairTime     = 500 * time.Millisecond
	pollInterval = 250 * time.Millisecond
)

// watch lowers the priority of a process during a long request.
type watch struct {
	stop    chan struct{}
	yielded chan bool // receives at the end whether watch lowered the priority
}

func watchOver(p *Process) *watch {
	w := &watch{stop: make(chan struct{}), yielded: make(chan bool, 1)}
	go func() { w.yielded <- p.lowerPriority(w.stop) }()
	return w
}

func (p *Process) lowerPriority(stop <-chan struct{}) bool {
	pid := p.cmd.Process.Pid
	begun, err := sandbox.UsedCPU(pid)
	if err != nil {
		return false // unknown on this system, or the process has exited
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-stop:
			return false
		case <-p.exited:
			return false
		}
		if used, err := sandbox.UsedCPU(pid); err != nil || used-begun < fairTime {
			continue
		}
		return p.alive() && sandbox.Yield(pid, true) == nil
	}
}

// stopWatch ends the watch of the last request, and restores the priority of the process. If
// the system does not allow that, stopWatch marks the process as unusable.
func (p *Process) stopWatch() {
	if p.watch == nil {
		return
	}
	close(p.watch.stop)
	if <-p.watch.yielded && p.alive() && sandbox.Yield(p.cmd.Process.Pid, false) != nil {
		p.Unusable = true
	}
	p.watch = nil
}
