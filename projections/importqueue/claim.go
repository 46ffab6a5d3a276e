package importqueue

import (
	"context"
	"slices"
	"time"

	"annals/events/failpoint"
	"annals/projections"

	"github.com/google/uuid"
)

// next waits until files can be claimed, and claims at least one. It returns nil if ctx
// has ended.
func (d *dispatch) next(ctx context.Context) []owned {
	look := time.NewTimer(0)
	defer look.Stop()
	for {
		_, moved := d.Work.Moved()
		tasks, err := d.claim(ctx)
		if err != nil && ctx.Err() == nil {
			d.Logger.Error("cannot claim files to import", "error", err)
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
			d.seeAll()
		case <-d.freed:
			d.gather(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// gather waits for more slots to be freed, up to gatherSlots.
func (d *dispatch) gather(ctx context.Context) {
	timeout := time.NewTimer(gatherSlots)
	defer timeout.Stop()
	for {
		d.mu.Lock()
		enough := d.answered >= d.Workers/4
		d.mu.Unlock()
		if !enough {
			select {
			case <-d.freed:
				continue
			case <-timeout.C:
			case <-ctx.Done():
			}
		}
		d.seeAll()
		return
	}
}

// seeAll makes the next poll claim files of every user with a free slot. Otherwise a poll
// skips users that have only a few free slots while they have files in progress.
func (d *dispatch) seeAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answered = d.Workers
}

// waiting reports whether any claim has to be dropped or retried, because its message was
// acknowledged or returned.
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

// eachOwner lists the users that have files to import, beginning after user $1. It takes
// one index lookup for each user.
const eachOwner = `WITH RECURSIVE owners (owner) AS (
		SELECT min(owner) FROM files WHERE owner > ''
		UNION ALL SELECT (SELECT min(owner) FROM files f WHERE f.owner > owners.owner) FROM owners WHERE owners.owner IS NOT NULL)
	SELECT owner FROM owners WHERE owner IS NOT NULL ORDER BY owner <= $1, owner`

// claim claims the oldest free files of users with free slots. If there are more files
// than slots, the users share the slots equally, but each user without a claimed file
// gets at least one.
func (d *dispatch) claim(ctx context.Context) (won []owned, err error) {
	d.forget(ctx)
	owners, err := projections.Column(ctx, d.Work.DB(), eachOwner, d.last)
	if err != nil {
		return nil, err
	}
	rooms, left := d.rooms(owners)
	owners = slices.DeleteFunc(owners, func(owner string) bool { return rooms[owner] == 0 })
	for i := 0; i < len(owners) && err == nil; i++ {
		owner, some := owners[i], []Task(nil)
		limit := min(rooms[owner], max(1, share(left, len(owners)-i)))
		if some, err = d.claimOf(ctx, owner, limit); len(some) > 0 {
			d.last = owner
		}
		left -= len(some)
		for _, t := range some {
			won = append(won, owned{t, owner})
		}
	}
	return won, err
}

// rooms returns how many more files may be claimed for each user, and how many for all
// users together.
func (d *dispatch) rooms(owners []string) (rooms map[string]int, left int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.answered >= d.Workers/4
	d.answered = 0
	total := d.countedAll()
	rooms, left = make(map[string]int, len(owners)), max(0, manyUsers*d.Workers-total)
	others := max(0, mostUsers*d.Workers-total) - left
	for _, owner := range owners {
		held := d.counted(owner)
		room := d.Workers - held
		if held > 0 && room < d.Workers/4 && !all {
			continue // skip this user until more slots are free
		}
		if left == 0 && (held > 0 || others <= 0) {
			continue
		} else if left == 0 {
			room = 1
			others--
		}
		if d.Room != nil {
			room = min(room, d.Room(owner, held, d.Workers))
		}
		rooms[owner] = max(0, room)
	}
	return rooms, left
}

// share returns all divided by among, rounded up.
func share(all, among int) int { return (all + among - 1) / among }

// claimOf claims the oldest free files of a user.
func (d *dispatch) claimOf(ctx context.Context, owner string, most int) ([]Task, error) {
	for limit := d.takenOf(owner) + 16; ; limit *= 2 {
		// found includes files that this node or other processes have claimed.
		found, err := d.oldest(ctx, owner, limit)
		if err != nil {
			return nil, err
		}
		last := len(found) < limit
		if i := slices.IndexFunc(found, d.cameBack); i >= 0 {
			found, last = found[:i], true // the returned file has to be claimed before later files
		}
		won, err := d.claimFirst(ctx, found, most)
		if len(won) > 0 || err != nil || last {
			return won, err
		}
	}
}

// takenOf returns an upper bound of the number of a user's files that this node may not
// claim now.
func (d *dispatch) takenOf(owner string) (taken int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.taken {
		if c.owner == owner || c.owner == "" {
			taken++
		}
	}
	return taken
}

// oldest returns up to limit files of a user that are not imported yet, the oldest
// first.
func (d *dispatch) oldest(ctx context.Context, owner string, limit int) ([]Task, error) {
	type row struct {
		job  string
		file int
	}
	rows, err := projections.List(ctx, d.Work.DB(), func(r *row) []any { return []any{&r.job, &r.file} },
		`SELECT job, file FROM files WHERE owner = $1 ORDER BY accepted, job, file LIMIT CAST($2 AS INTEGER)`, owner, limit)
	tasks := make([]Task, len(rows))
	for i := 0; i < len(rows) && err == nil; i++ {
		tasks[i].File = rows[i].file
		tasks[i].Job, err = uuid.Parse(rows[i].job)
	}
	return tasks, err
}

// claimFirst claims up to most of the given files: the first ones that are free.
func (d *dispatch) claimFirst(ctx context.Context, found []Task, most int) (won []Task, err error) {
	free := slices.DeleteFunc(found, d.isTaken)
	held, err := d.Control.Leased(ctx, leases(free)...)
	if err != nil {
		return nil, err
	}
	free = d.without(free, func(t Task) bool { return held[t.lease()] })
	for len(won) == 0 && len(free) > 0 {
		tried := free[:min(most, len(free))]
		free = free[len(tried):]
		got, err := d.Control.Claim(ctx, d.Holder, leaseTime, leases(tried)...)
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

// without returns the tasks for which held is false. The other tasks, which another node
// has claimed, are retried later.
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

// cameBack reports whether a file was returned and will soon be retried.
func (d *dispatch) cameBack(t Task) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.taken[t]
	return c != nil && c.back
}

func (d *dispatch) set(t Task, c *claim) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken[t] = c
}

// forget drops claims that are no longer needed and, from time to time, leases that
// expired long ago.
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
	if err := d.Control.RemoveExpired(ctx, leaseTime); err != nil && ctx.Err() == nil {
		d.Logger.Warn("cannot remove expired leases", "error", err)
	}
}

// settle sets passed for claims whose import has ended: the position that the read model
// has to pass before the claim is dropped.
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
	head, err := d.Work.Head(ctx)
	if err != nil {
		return // the next poll tries again; at the time until, claims are dropped in any case
	}
	for _, c := range done {
		c.passed = head
	}
}
