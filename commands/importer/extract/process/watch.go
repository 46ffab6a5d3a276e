package process

import (
	"time"

	"annals/commands/importer/extract/sandbox"
)

const (
	// fairTime is the processor time of a request after which its process gets a
	// lower scheduling priority.
	fairTime  = 500 * time.Millisecond
	lookEvery = 250 * time.Millisecond
)

// watch lowers the priority of a process if its request takes long.
type watch struct {
	stop    chan struct{}
	yielded chan bool // once it has ended: whether the priority was lowered
}

func watchOver(p *Process) *watch {
	w := &watch{stop: make(chan struct{}), yielded: make(chan bool, 1)}
	go func() { w.yielded <- p.yieldWhenLong(w.stop) }()
	return w
}

func (p *Process) yieldWhenLong(stop <-chan struct{}) bool {
	pid := p.cmd.Process.Pid
	begun, err := sandbox.UsedCPU(pid)
	if err != nil {
		return false // unknown on this system, or the process has ended
	}
	tick := time.NewTicker(lookEvery)
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

// stopWatch ends the watch over the last request and restores the priority of the
// process, which becomes unusable if the system does not allow that.
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
