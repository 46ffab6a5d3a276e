package projections

import (
	"context"
	"slices"
	"time"

	"annals/events/failpoint"

	"github.com/google/uuid"
)

// next waits for tasks and claims up to so many, one at least; none when ctx
// ended.
func (d *dispatch) next(ctx context.Context, most int) []Task {
	look := time.NewTimer(0)
	defer look.Stop()
	for {
		_, moved := d.Work.Moved()
		tasks, err := d.claim(ctx, most)
		if err != nil && ctx.Err() == nil {
			d.Logger.Error("work cannot be claimed", "error", err)
		}
		if len(tasks) > 0 || ctx.Err() != nil {
			return tasks
		}
		wait := lookEvery
		if err == nil && d.waiting() {
			wait = retryAfter
		}
		look.Reset(wait)
		select {
		case <-moved:
		case <-look.C:
		case <-ctx.Done():
			return nil
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

// claim claims up to so many free files: of each user in turn an equal part, the
// oldest.
func (d *dispatch) claim(ctx context.Context, most int) (won []Task, err error) {
	d.forget(ctx)
	owners, err := Column(ctx, d.Work.DB(), eachOwner, d.last)
	for i := 0; i < len(owners) && len(won) < most && err == nil; i++ {
		var some []Task
		if some, err = d.claimOf(ctx, owners[i], share(most-len(won), len(owners)-i)); len(some) > 0 {
			won, d.last = append(won, some...), owners[i]
		}
	}
	return won, err
}

// share is the part of each of some that share what there is, one at least.
func share(all, among int) int { return (all + among - 1) / among }

// claimOf claims the oldest free files of a user, up to so many.
func (d *dispatch) claimOf(ctx context.Context, owner string, most int) ([]Task, error) {
	d.mu.Lock()
	limit := len(d.taken) + 16
	d.mu.Unlock()
	for ; ; limit *= 2 {
		// Those that are taken here are among them, and those that other
		// processes hold.
		found, err := d.oldest(ctx, owner, limit)
		if err != nil {
			return nil, err
		}
		won, err := d.claimFirst(ctx, found, most)
		if len(won) > 0 || err != nil || len(found) < limit {
			return won, err
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

// claimFirst claims the first of some files that nobody holds, up to so many.
func (d *dispatch) claimFirst(ctx context.Context, found []Task, most int) (won []Task, err error) {
	free := slices.DeleteFunc(found, d.isTaken)
	held, err := d.Control.leased(ctx, leases(free)...)
	if err != nil {
		return nil, err
	}
	free = d.without(free, func(t Task) bool { return held[t.lease()] })
	for len(won) == 0 && len(free) > 0 {
		tried := free[:min(most, len(free))]
		free = free[len(tried):]
		got, err := d.Control.claim(ctx, d.Holder, leaseTime, leases(tried)...)
		if err != nil {
			return nil, err
		}
		failpoint.Here(failpoint.FileClaimed)
		won = d.without(tried, func(t Task) bool { return !got[t.lease()] })
	}
	return won, nil
}

func leases(tasks []Task) []string {
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.lease()
	}
	return names
}

// without returns some tasks but for those that another process holds, which are
// not tried again at once.
func (d *dispatch) without(tasks []Task, held func(Task) bool) []Task {
	return slices.DeleteFunc(tasks, func(t Task) bool {
		if held(t) {
			d.set(t, &claim{until: time.Now().Add(retryAfter)})
			return true
		}
		return false
	})
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
	d.settle(ctx)
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

// settle notes for all tasks that were done since the last look up to where the
// read model is to pass before they are forgotten.
func (d *dispatch) settle(ctx context.Context) {
	var done []*claim
	d.mu.Lock()
	for _, c := range d.taken {
		if c.done && c.passed == 0 {
			done = append(done, c)
		}
	}
	d.mu.Unlock()
	if len(done) == 0 {
		return
	}
	head, err := d.Work.log.Head(ctx)
	if err != nil {
		return // the next look asks again, or their time is up
	}
	for _, c := range done {
		c.passed = head
	}
}
