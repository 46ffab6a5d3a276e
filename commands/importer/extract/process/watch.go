package process

import (
	"time"

	"annals/commands/importer/extract/sandbox"
)

const (
	// fairTime is the processor time of a request after which its process ranks
	// behind those whose requests take less.
	fairTime  = 500 * time.Millisecond
	lookEvery = 250 * time.Millisecond
)

// watch has a process yield to others when its request takes long.
type watch struct {
	stop    chan struct{}
	yielded chan bool // when it has ended: whether the process yields
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
		return false // not known on this system, or the process has ended
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

// settle ends the watch over the last request. A process that yielded ranks as
// before again, or is spoilt where the system does not allow that.
func (p *Process) settle() {
	if p.watch == nil {
		return
	}
	close(p.watch.stop)
	if <-p.watch.yielded && p.alive() && sandbox.Yield(p.cmd.Process.Pid, false) != nil {
		p.Spoilt = true
	}
	p.watch = nil
}
