// Package importqueue hands out the files that wait to be imported, each to one node at a
// time. It claims them by leases in the control store, in the order of the work read
// model.
//
// The package imports projections, which has the work read model, and the control store.
package importqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"annals/events"
	"annals/events/failpoint"
	"annals/projections"
	"annals/projections/control"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

// Queue hands out the files that wait to be imported, as messages whose payload is the
// JSON of a Task. It is a message.Subscriber over the work read model. Users take turns,
// the files of a user come in the order in which they were accepted, and each file is
// leased to one node at a time.
//
// Ack means that the import of the file has ended, Nack returns the file so that it is
// handed out again. The context of a message ends when the lease of its file is lost.
type Queue struct {
	Work    *projections.Runner
	Control *control.Store
	Holder  string // identifies this process in leases
	Workers int    // maximum number of unacknowledged messages of one user
	// Room, if set, returns how many more files of owner should be claimed now. held is
	// the number of the owner's unacknowledged messages, and limit is the maximum of
	// held. Room is called often.
	Room   func(owner string, held, limit int) int
	Logger *slog.Logger

	mu         sync.Mutex
	cancels    []context.CancelFunc // of the subscriptions
	dispatches []*dispatch          // one for each subscription
	running    sync.WaitGroup
}

// Task is one file of one job.
type Task struct {
	Job  uuid.UUID `json:"job"`
	File int       `json:"file"`
}

func (t Task) lease() string { return fmt.Sprintf("import/%s/%d", t.Job, t.File) }

// If a process is killed, another process claims its files after at most leaseTime +
// lookEvery. Including polling and waiting for files of other users, that is at most 30
// s.
const (
	leaseTime  = 20 * time.Second
	renewEvery = 5 * time.Second
	// retryAfter is the pause before this node tries again to claim a file that was
	// returned, or that another node had claimed.
	retryAfter = time.Second
	lookEvery  = 2500 * time.Millisecond // how often to look for files whose lease has expired
	// gatherSlots is how long to wait for more slots to be freed before the next poll.
	// Polling for each slot would cost four round trips per file.
	gatherSlots = 20 * time.Millisecond
	// manyUsers is how many users may use all their slots at the same time. Further users
	// have one message each, up to mostUsers users in total.
	manyUsers = 8
	mostUsers = 32
	// mostAside is how many messages of one user may be set aside, and mostAsideAll how many in
	// total. Each takes some 30 KB of memory and a lease. Further ones count like other messages.
	mostAside    = 1000
	mostAsideAll = 4000
)

// Subscribe starts to hand out files. The topic is ignored. After ctx has ended or the
// Queue was closed, the channel is closed as soon as every message has been acknowledged
// or returned.
func (q *Queue) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan *message.Message)
	d := newDispatch(q, out)
	q.mu.Lock()
	q.cancels = append(q.cancels, cancel)
	q.dispatches = append(q.dispatches, d)
	q.mu.Unlock()
	q.running.Go(func() {
		defer close(out)
		d.run(ctx)
	})
	return out, nil
}

// SetAside makes the message of a file not count in the limits of messages until it is
// acknowledged or returned, so that files behind it are handed out. Call it for a message that
// waits long for something that other messages do not need.
func (q *Queue) SetAside(job uuid.UUID, file int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range q.dispatches {
		d.setAside(Task{job, file})
	}
}

// Close stops handing out files and waits until every message has been acknowledged or
// returned.
func (q *Queue) Close() error {
	q.mu.Lock()
	for _, cancel := range q.cancels {
		cancel()
	}
	q.mu.Unlock()
	q.running.Wait()
	return nil
}

// claim is a task that was handed out, has ended, or is to be retried later.
type claim struct {
	cancel context.CancelFunc // ends the message's context; nil after the message was acknowledged or returned
	owner  string
	aside  bool // see SetAside
	// back means that the file was returned. Later files of the user wait for it, so that
	// files keep their order.
	back bool
	// A claim without a message is dropped at the time until. If done is set, the import
	// has ended: the claim is dropped earlier if the read model passes the event of that
	// end. passed is a position of the log at or after that event, or 0 if it is not
	// known yet.
	until  time.Time
	done   bool
	passed events.Position
}

// dispatch is the state of one subscription.
type dispatch struct {
	*Queue
	out   chan<- *message.Message
	freed chan struct{} // receives when a slot was freed
	last  string        // the user whose files were claimed last
	swept time.Time     // when expired leases were last removed

	mu       sync.Mutex
	taken    map[Task]*claim
	held     map[string]int // unacknowledged messages, by user
	aside    map[string]int // those of held that were set aside
	total    int            // sum of held
	answered int            // slots freed since the last poll, see seeAll
	answers  sync.WaitGroup
}

func newDispatch(q *Queue, out chan<- *message.Message) *dispatch {
	return &dispatch{Queue: q, out: out, freed: make(chan struct{}, 1), taken: make(map[Task]*claim), held: make(map[string]int), aside: make(map[string]int)}
}

func (d *dispatch) run(ctx context.Context) {
	renewal := time.NewTicker(renewEvery)
	defer renewal.Stop()
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		for {
			select {
			case <-renewal.C:
				d.renew(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
	for ctx.Err() == nil {
		for _, o := range d.outgoing(ctx, d.next(ctx)) {
			d.send(ctx, o)
		}
	}
	<-renewed
	d.answers.Wait()
}

// outgoing is a message that hands out a task.
type outgoing struct {
	*message.Message
	owned
	claim *claim
}

// owned is a task and the user it belongs to.
type owned struct {
	Task
	owner string
}

// outgoing returns a message for each claimed task. From then on the leases of the tasks
// are renewed.
func (d *dispatch) outgoing(ctx context.Context, tasks []owned) []outgoing {
	all := make([]outgoing, len(tasks))
	for i, t := range tasks {
		payload, err := json.Marshal(t.Task)
		if err != nil {
			panic("importqueue: a task cannot be encoded: " + err.Error())
		}
		// The context does not end with ctx: an import continues while the queue is being
		// closed, until the worker stops it.
		work, cancel := context.WithCancel(context.WithoutCancel(ctx))
		all[i] = outgoing{message.NewMessage(uuid.NewString(), payload), t, &claim{cancel: cancel, owner: t.owner}}
		all[i].SetContext(work)
		d.set(t.Task, all[i].claim)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range tasks {
		d.held[t.owner]++
		d.total++
	}
	return all
}

// send hands out a message and waits in the background for its acknowledgement.
func (d *dispatch) send(ctx context.Context, o outgoing) {
	select {
	case d.out <- o.Message:
	case <-ctx.Done():
		d.giveBack(ctx, o)
		return
	}
	d.answers.Go(func() {
		defer d.free(o)
		select {
		case <-o.Acked():
			// The work read model removes the file after it has applied the event that
			// ends the import. Until then, this claim keeps this process from claiming
			// the file again, and the lease keeps other processes from it.
			d.set(o.Task, &claim{owner: o.owner, until: time.Now().Add(leaseTime), done: true})
			o.claim.cancel()
		case <-o.Nacked():
			d.giveBack(ctx, o)
		}
	})
}

// giveBack releases the lease of a file, which is then retried.
func (d *dispatch) giveBack(ctx context.Context, o outgoing) {
	o.claim.cancel()
	if err := d.Control.Release(context.WithoutCancel(ctx), o.lease(), d.Holder); err != nil {
		d.Logger.Warn("cannot release a lease", "lease", o.lease(), "error", err) // the lease expires
	}
	failpoint.Here(failpoint.FileReleased)
	d.set(o.Task, &claim{owner: o.owner, until: time.Now().Add(retryAfter), back: true})
}

// setAside sets the message of a task aside, if this dispatch has handed it out.
func (d *dispatch) setAside(t Task) {
	d.mu.Lock()
	c := d.taken[t]
	found := c != nil && c.cancel != nil && !c.aside
	if found {
		c.aside = true
		d.aside[c.owner]++
		d.answered++
	}
	d.mu.Unlock()
	if found {
		d.wake()
	}
}

// free frees the slot of a message that was acknowledged or returned.
func (d *dispatch) free(o outgoing) {
	d.mu.Lock()
	d.total--
	d.answered++
	decrement(d.held, o.owner)
	if o.claim.aside {
		decrement(d.aside, o.owner)
	}
	d.mu.Unlock()
	d.wake()
}

func decrement(counts map[string]int, owner string) {
	if counts[owner]--; counts[owner] == 0 {
		delete(counts, owner)
	}
}

// wake ends the wait for a freed slot.
func (d *dispatch) wake() {
	select {
	case d.freed <- struct{}{}:
	default: // already notified
	}
}

// counted returns how many messages of a user count in the limits.
func (d *dispatch) counted(owner string) int { return d.held[owner] - min(d.aside[owner], mostAside) }

// countedAll returns how many messages of all users count in the limits.
func (d *dispatch) countedAll() int {
	aside := 0
	for _, n := range d.aside {
		aside += min(n, mostAside)
	}
	return d.total - min(aside, mostAsideAll)
}

// renew extends the leases of all unacknowledged messages, and cancels the messages whose
// lease is lost.
func (d *dispatch) renew(ctx context.Context) {
	d.mu.Lock()
	out := make(map[Task]context.CancelFunc, len(d.taken))
	for t, c := range d.taken {
		if c.cancel != nil {
			out[t] = c.cancel
		}
	}
	d.mu.Unlock()
	held, err := d.Control.Renew(ctx, d.Holder, leaseTime, leases(slices.Collect(maps.Keys(out)))...)
	failpoint.Here(failpoint.LeaseRenewed)
	if err != nil {
		d.Logger.Warn("cannot renew leases", "leases", len(out), "error", err)
		return
	}
	for t, cancel := range out {
		if !held[t.lease()] {
			cancel()
		}
	}
}
