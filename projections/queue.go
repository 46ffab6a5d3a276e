package projections

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"annals/events"
	"annals/events/failpoint"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

// Queue hands out the files that wait to be imported, as messages whose
// payload is the JSON of a Task. It is a message.Subscriber over the work read
// model: users take turns, a user's files come in the order in which they were
// accepted, and each file is leased to one process at a time.
//
// Ack ends a claim, Nack gives the file back for another try. A message's
// context ends when its lease is lost.
type Queue struct {
	Work    *Runner
	Control *Control
	Holder  string // names this process among others
	Workers int    // most messages that are out at once
	Logger  *slog.Logger

	mu      sync.Mutex
	cancels []context.CancelFunc // of the subscriptions
	running sync.WaitGroup
}

// Task is one file of one job.
type Task struct {
	Job  uuid.UUID `json:"job"`
	File int       `json:"file"`
}

func (t Task) lease() string { return fmt.Sprintf("import/%s/%d", t.Job, t.File) }

// Whatever a process had in work that died is taken up within leaseTime and
// lookEvery, a look for each of its files and users' turns included: 30 s in all.
const (
	leaseTime  = 20 * time.Second
	renewEvery = 5 * time.Second
	// retryAfter keeps a file that was given back, or that another process
	// holds, from being tried at once again.
	retryAfter = time.Second
	lookEvery  = 2500 * time.Millisecond // for leases of processes that died
)

// Subscribe starts handing out work; the topic is of no account. The channel
// is closed once ctx has ended or the Queue is closed, and every message that
// is out has been acknowledged.
func (q *Queue) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	q.mu.Lock()
	q.cancels = append(q.cancels, cancel)
	q.mu.Unlock()
	out := make(chan *message.Message)
	q.running.Go(func() {
		defer close(out)
		d := &dispatch{Queue: q, out: out, slots: make(chan struct{}, q.Workers), taken: make(map[Task]*claim)}
		d.run(ctx)
	})
	return out, nil
}

// Close stops handing out work and waits for the messages that are out.
func (q *Queue) Close() error {
	q.mu.Lock()
	for _, cancel := range q.cancels {
		cancel()
	}
	q.mu.Unlock()
	q.running.Wait()
	return nil
}

// claim is a task that is out, was done, or may be tried again later.
type claim struct {
	cancel context.CancelFunc // of the message's context; nil once it was answered
	// An answered claim is forgotten at a time, or, where the work is done,
	// when the read model has passed the event that says so.
	until  time.Time
	passed events.Position
}

// dispatch is the state of one subscription.
type dispatch struct {
	*Queue
	out   chan<- *message.Message
	slots chan struct{} // one token for each message that is out
	last  string        // the owner whose turn was last
	swept time.Time     // when leases were last cleared away

	mu      sync.Mutex
	taken   map[Task]*claim
	answers sync.WaitGroup
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
		select {
		case d.slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		task, ok := d.next(ctx)
		if !ok {
			break
		}
		d.send(ctx, task)
	}
	<-renewed
	d.answers.Wait()
}

// next waits for a task and claims it; ok is false when ctx ended.
func (d *dispatch) next(ctx context.Context) (task Task, ok bool) {
	look := time.NewTimer(0)
	defer look.Stop()
	for {
		_, moved := d.Work.Moved()
		task, ok, err := d.claimOne(ctx)
		if ok || ctx.Err() != nil {
			return task, ok
		}
		wait := lookEvery
		if err != nil {
			d.Logger.Error("work cannot be claimed", "error", err)
		} else if d.waiting() {
			wait = retryAfter
		}
		look.Reset(wait)
		select {
		case <-moved:
		case <-look.C:
		case <-ctx.Done():
			return Task{}, false
		}
	}
}

// waiting reports whether a claim will be forgotten, and so can be tried
// again, soon.
func (d *dispatch) waiting() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.taken {
		if c.cancel == nil {
			return true
		}
	}
	return false
}

// eachOwner lists those who have work, by one look into the index for each,
// beginning behind $1.
const eachOwner = `WITH RECURSIVE owners (owner) AS (
		SELECT min(owner) FROM files WHERE owner > ''
		UNION ALL SELECT (SELECT min(owner) FROM files f WHERE f.owner > owners.owner) FROM owners WHERE owners.owner IS NOT NULL)
	SELECT owner FROM owners WHERE owner IS NOT NULL ORDER BY owner <= $1, owner`

// claimOne claims the oldest free file of the user whose turn it is.
func (d *dispatch) claimOne(ctx context.Context) (Task, bool, error) {
	d.forget(ctx)
	owners, err := Column(ctx, d.Work.DB(), eachOwner, d.last)
	if err != nil {
		return Task{}, false, err
	}
	for _, owner := range owners {
		task, ok, err := d.claimOf(ctx, owner)
		if err != nil {
			return Task{}, false, err
		}
		if ok {
			d.last = owner
			return task, true, nil
		}
	}
	return Task{}, false, nil
}

// claimOf claims the oldest free file of a user.
func (d *dispatch) claimOf(ctx context.Context, owner string) (Task, bool, error) {
	d.mu.Lock()
	limit := len(d.taken) + 16
	d.mu.Unlock()
	for ; ; limit *= 2 {
		// Those that are taken here are among them, and those that other
		// processes hold.
		found, err := d.oldest(ctx, owner, limit)
		if err != nil {
			return Task{}, false, err
		}
		t, ok, err := d.claimFirst(ctx, found)
		if ok || err != nil || len(found) < limit {
			return t, ok, err
		}
	}
}

// oldest returns the first files of a user that wait or are in work.
func (d *dispatch) oldest(ctx context.Context, owner string, limit int) ([]Task, error) {
	type row struct {
		job  string
		file int
	}
	rows, err := List(ctx, d.Work.DB(), func(r *row) []any { return []any{&r.job, &r.file} },
		`SELECT job, file FROM files WHERE owner = $1 ORDER BY accepted, job, file LIMIT CAST($2 AS INTEGER)`, owner, limit)
	tasks := make([]Task, len(rows))
	for i := 0; i < len(rows) && err == nil; i++ {
		tasks[i].File = rows[i].file
		tasks[i].Job, err = uuid.Parse(rows[i].job)
	}
	return tasks, err
}

// claimFirst claims the first of some files that nobody holds.
func (d *dispatch) claimFirst(ctx context.Context, found []Task) (Task, bool, error) {
	free := slices.DeleteFunc(found, d.isTaken)
	held, err := d.Control.leased(ctx, free)
	if err != nil {
		return Task{}, false, err
	}
	for _, t := range free {
		won := false
		if !held[t.lease()] {
			won, err = d.Control.claim(ctx, t.lease(), d.Holder, leaseTime)
		}
		if won || err != nil {
			failpoint.Here(failpoint.FileClaimed)
			return t, won, err
		}
		d.set(t, &claim{until: time.Now().Add(retryAfter)})
	}
	return Task{}, false, nil
}

func (d *dispatch) isTaken(t Task) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.taken[t]
	return ok
}

func (d *dispatch) set(t Task, c *claim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken[t] = c
}

// forget drops answered claims that are of no more use, and now and then the
// leases that ran out long ago.
func (d *dispatch) forget(ctx context.Context) {
	now, position := time.Now(), d.Work.Position()
	d.mu.Lock()
	for t, c := range d.taken {
		if c.cancel == nil && (now.After(c.until) || c.passed > 0 && position >= c.passed) {
			delete(d.taken, t)
		}
	}
	d.mu.Unlock()
	if now.Sub(d.swept) < lookEvery {
		return
	}
	d.swept = now
	if err := d.Control.forget(ctx, leaseTime); err != nil && ctx.Err() == nil {
		d.Logger.Warn("leases that ran out cannot be removed", "error", err)
	}
}

// send hands out a claimed task and waits for the answer in the background.
func (d *dispatch) send(ctx context.Context, t Task) {
	payload, err := json.Marshal(t)
	if err != nil {
		panic("projections: a task cannot be encoded: " + err.Error())
	}
	msg := message.NewMessage(uuid.NewString(), payload)
	// The work goes on while the queue is being closed: whoever runs it says
	// when to stop.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	msg.SetContext(work)
	d.set(t, &claim{cancel: cancel})
	select {
	case d.out <- msg:
	case <-ctx.Done():
		d.giveBack(ctx, t, cancel)
		<-d.slots
		return
	}
	d.answers.Go(func() {
		defer func() { <-d.slots }()
		select {
		case <-msg.Acked():
			d.done(work, t)
			cancel()
		case <-msg.Nacked():
			d.giveBack(ctx, t, cancel)
		}
	})
}

// done notes that a task's work has ended. Its row goes when the read model
// has passed the event that says so; until then the claim, and for other
// processes the lease, keep it from being taken again.
func (d *dispatch) done(ctx context.Context, t Task) {
	c := &claim{until: time.Now().Add(leaseTime)}
	head, err := d.Work.log.Head(ctx)
	if err == nil {
		c.passed = head
	}
	d.set(t, c)
}

func (d *dispatch) giveBack(ctx context.Context, t Task, cancel context.CancelFunc) {
	cancel()
	if err := d.Control.release(context.WithoutCancel(ctx), t.lease(), d.Holder); err != nil {
		d.Logger.Warn("lease cannot be given back", "lease", t.lease(), "error", err) // it runs out
	}
	failpoint.Here(failpoint.LeaseGivenBack)
	d.set(t, &claim{until: time.Now().Add(retryAfter)})
}

// renew prolongs the leases of all messages that are out. The work on one that
// was lost is called off.
func (d *dispatch) renew(ctx context.Context) {
	d.mu.Lock()
	out := make(map[Task]context.CancelFunc, len(d.taken))
	for t, c := range d.taken {
		if c.cancel != nil {
			out[t] = c.cancel
		}
	}
	d.mu.Unlock()
	for t, cancel := range out {
		held, err := d.Control.renew(ctx, t.lease(), d.Holder, leaseTime)
		failpoint.Here(failpoint.LeaseRenewed)
		if err != nil {
			d.Logger.Warn("lease cannot be renewed", "lease", t.lease(), "error", err)
		} else if !held {
			cancel()
		}
	}
}
