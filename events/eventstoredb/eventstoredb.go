// Package eventstoredb keeps a log in EventStoreDB or KurrentDB: one server or
// a cluster of them. It imports events and events/fault, nothing else of ours.
//
// It speaks the protocol by the definitions of the official client, reads its
// URLs by it, and does without the client itself. That one, once it has looked
// for a server in vain, is dead for good, with calls that hang in it whatever
// their contexts say, and closing it then ends the program; it asks no filter
// of reads of the whole log, nor the leader for them.
package eventstoredb

import (
	"context"
	"errors"
	"sync"

	"annals/events"
	"annals/events/fault"
)

// Driver is an events.Driver over a cluster. Open makes one.
//
// A position is the commit position of the server's log. What the server keeps
// for itself, in streams whose names begin with $, is left out, and so are the
// streams of others where the URL has a prefix for ours.
type Driver struct {
	settings
	cluster *cluster
	heads   *heads

	life context.Context // ends with Close
	end  context.CancelFunc

	mu        sync.Mutex
	closed    bool
	following bool
	work      sync.WaitGroup // calls under way, and the subscription
}

// Open connects to the server that a URL names, as the clients of EventStoreDB
// write it, or to the leader of its cluster:
//
//	esdb://user:password@host:2113?tlsCaFile=/etc/annals/ca.crt
//	esdb://one:2113,two:2113,three:2113?tls=false
//	esdb+discover://cluster.example.com:2113?prefix=annals-
//
// kurrentdb stands for esdb as well. With prefix=P the names of all streams
// begin with P there, so that several logs may share a cluster;
// defaultDeadline=MS is how long an answer is waited for, 5 s where it is left
// out; a call that is never answered fails after twice that. The user must be
// one who may read $all, which by default admins may alone.
//
// A URL that cannot be used is fault.Invalid, and no error repeats what may be
// a password; a server that does not answer is fault.Unavailable.
func Open(ctx context.Context, url string) (*Driver, error) {
	s, err := parse(url)
	if err != nil {
		return nil, err
	}
	d := &Driver{settings: s, cluster: newCluster(s), heads: newHeads()}
	d.life, d.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := d.call(ctx, "open", func(context.Context, *session, func()) error { return nil }); err != nil {
		_ = d.Close() // nothing was opened that could fail to close
		if fault.Is(err, fault.Unavailable) || errors.Is(err, context.DeadlineExceeded) {
			err = d.cluster.misnamed(ctx, err)
		}
		return nil, err
	}
	return d, nil
}

// Close implements events.Driver. It cuts off all calls: an append among them
// may have been made or not.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.end()
	d.work.Wait()
	return d.cluster.close()
}

// enter keeps the driver open until leave is called.
func (d *Driver) enter() (leave func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	d.work.Add(1)
	return d.work.Done, nil
}

var errClosed = fault.Errorf(fault.Unavailable, "the log is closed")

var _ events.Driver = (*Driver)(nil)
