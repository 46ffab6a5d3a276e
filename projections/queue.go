package projections

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
	Workers int    // most messages of one user that are out at once
	// Room, where given, returns how many more messages of a user who holds some are
	// of use now, where most may be out. It is asked often.
	Room   func(owner string, held, most int) int
	Logger *slog.Logger

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
	// gatherPlaces is how long places come together while others are taken: a
	// look for each would cost four round trips a file.
	gatherPlaces = 20 * time.Millisecond
	// manyUsers have as many messages out as each may have; of others one is, up
	// to mostUsers.
	manyUsers = 8
	mostUsers = 32
)

// Subscribe starts handing out work; the topic is ignored. The channel
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
		newDispatch(q, out).run(ctx)
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
	owner  string
	// back says that the message was given back: later ones of its user wait for
	// it, so that they keep their order.
	back bool
	// An answered claim is forgotten at a time, or, where the work is done,
	// when the read model has passed the event that says so: passed is where the
	// log ended then, or later; 0 as long as nobody has looked.
	until  time.Time
	done   bool
	passed events.Position
}

// dispatch is the state of one subscription.
type dispatch struct {
	*Queue
	out   chan<- *message.Message
	freed chan struct{} // notifies that a message was answered
	last  string        // the owner whose turn was last
	swept time.Time     // when leases were last cleared away

	mu       sync.Mutex
	taken    map[Task]*claim
	held     map[string]int // messages that are out, by owner
	total    int            // of held
	answered int            // messages, since the last look for all places
	answers  sync.WaitGroup
}

func newDispatch(q *Queue, out chan<- *message.Message) *dispatch {
	return &dispatch{Queue: q, out: out, freed: make(chan struct{}, 1), taken: make(map[Task]*claim), held: make(map[string]int)}
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
	cancel context.CancelFunc // of the message's context
}

// owned is a task, and whose it is.
type owned struct {
	Task
	owner string
}

// outgoing makes messages of claimed tasks, whose leases are renewed from then
// on.
func (d *dispatch) outgoing(ctx context.Context, tasks []owned) []outgoing {
	all := make([]outgoing, len(tasks))
	for i, t := range tasks {
		payload, err := json.Marshal(t.Task)
		if err != nil {
			panic("projections: a task cannot be encoded: " + err.Error())
		}
		// The work goes on while the queue is being closed: whoever runs it says
		// when to stop.
		work, cancel := context.WithCancel(context.WithoutCancel(ctx))
		all[i] = outgoing{message.NewMessage(uuid.NewString(), payload), t, cancel}
		all[i].SetContext(work)
		d.set(t.Task, &claim{cancel: cancel, owner: t.owner})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range tasks {
		d.held[t.owner]++
		d.total++
	}
	return all
}

// send hands out a message and waits for the answer in the background.
func (d *dispatch) send(ctx context.Context, o outgoing) {
	select {
	case d.out <- o.Message:
	case <-ctx.Done():
		d.giveBack(ctx, o)
		return
	}
	d.answers.Go(func() {
		defer d.free(o.owner)
		select {
		case <-o.Acked():
			// Its row goes when the read model has passed the event that says so;
			// until then the claim, and for other processes the lease, keep it
			// from being taken again.
			d.set(o.Task, &claim{owner: o.owner, until: time.Now().Add(leaseTime), done: true})
			o.cancel()
		case <-o.Nacked():
			d.giveBack(ctx, o)
		}
	})
}

func (d *dispatch) giveBack(ctx context.Context, o outgoing) {
	o.cancel()
	if err := d.Control.release(context.WithoutCancel(ctx), o.lease(), d.Holder); err != nil {
		d.Logger.Warn("lease cannot be given back", "lease", o.lease(), "error", err) // it runs out
	}
	failpoint.Here(failpoint.LeaseGivenBack)
	d.set(o.Task, &claim{owner: o.owner, until: time.Now().Add(retryAfter), back: true})
}

// free gives back the place of a message that was answered.
func (d *dispatch) free(owner string) {
	d.mu.Lock()
	d.total--
	d.answered++
	if d.held[owner]--; d.held[owner] == 0 {
		delete(d.held, owner)
	}
	d.mu.Unlock()
	select {
	case d.freed <- struct{}{}:
	default: // it is known already
	}
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
	held, err := d.Control.renewAll(ctx, d.Holder, leaseTime, leases(slices.Collect(maps.Keys(out)))...)
	failpoint.Here(failpoint.LeaseRenewed)
	if err != nil {
		d.Logger.Warn("leases cannot be renewed", "leases", len(out), "error", err)
		return
	}
	for t, cancel := range out {
		if !held[t.lease()] {
			cancel()
		}
	}
}
