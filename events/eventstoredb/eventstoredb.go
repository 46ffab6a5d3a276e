// Package eventstoredb keeps a log in EventStoreDB or KurrentDB: one server or
// a cluster of them. It imports events and events/fault, and no other package of this
// module.
//
// It uses the protocol definitions and the URL parser of the official client, but not
// the client itself: after the client has failed to find a server, its calls ignore
// their contexts and hang, and its Close method panics. The client also cannot filter
// reads of the whole log, and cannot send such reads to the leader.
package eventstoredb

import (
	"context"
	"errors"
	"sync"

	"annals/events"
	"annals/events/fault"
)

// Driver is an events.Driver over a cluster. Open creates one.
//
// A position is the commit position in the server's log. System streams, whose names
// begin with $, are skipped. If the URL has a prefix, streams without it are skipped,
// too.
type Driver struct {
	settings
	cluster *cluster
	heads   *heads

	life context.Context // ends with Close
	end  context.CancelFunc

	mu        sync.Mutex
	closed    bool
	following bool
	work      sync.WaitGroup // calls in progress, and the subscription
}

// Open connects to the server in a URL, or to the leader of its cluster. URLs are those
// of other EventStoreDB clients:
//
//	esdb://user:password@host:2113?tlsCaFile=/etc/annals/ca.crt
//	esdb://one:2113,two:2113,three:2113?tls=false
//	esdb+discover://cluster.example.com:2113?prefix=annals-
//
// The scheme may also be kurrentdb. prefix=P is prepended to all stream names on the
// server, so that several logs can share a cluster. defaultDeadline=MS is how long to
// wait for a response, by default 5 s; a call fails after twice that time. The user needs
// the right to read $all, which by default only admins have.
//
// The error is fault.Invalid if the URL cannot be used, and fault.Unavailable if the
// server does not respond. Errors do not contain passwords.
func Open(ctx context.Context, url string) (*Driver, error) {
	s, err := parse(url)
	if err != nil {
		return nil, err
	}
	d := &Driver{settings: s, cluster: newCluster(s), heads: newHeads()}
	d.life, d.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := d.call(ctx, "open", func(context.Context, *session, func()) error { return nil }); err != nil {
		_ = d.Close() // returns no error, because there is no connection yet
		if fault.Is(err, fault.Unavailable) || errors.Is(err, context.DeadlineExceeded) {
			err = d.cluster.misnamed(ctx, err)
		}
		return nil, err
	}
	return d, nil
}

// Close implements events.Driver. It interrupts all calls. The records of an interrupted
// append may have been stored or not.
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
