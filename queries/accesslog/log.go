package accesslog

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"annals/events"

	"github.com/google/uuid"
)

// Bounds on records that wait to be written.
const (
	pause     = 500 * time.Millisecond // between writes; kill -9 may lose these records
	window    = time.Minute            // equal accesses within it are one record
	mostKept  = 20_000                 // records that wait or may still be counted up
	mostEach  = 4_000                  // of those, from one user or address
	mostTexts = 512                    // bytes of each string
)

// Records per minute for one user or address; further accesses are counted in a single
// record. If all reads are recorded, reads have a separate limit.
const (
	eachMinute      = 120
	readsEachMinute = 6_000
)

// Options configure a Log.
type Options struct {
	Reads     Reads
	Retention time.Duration // after which records are deleted; 0 means never
	Bytes     int64         // approximate size of all records, the oldest are deleted first; 0 means unlimited
	// Find looks up the location of things. Things missing from its result do not
	// exist. It may be nil.
	Find func(ctx context.Context, things []string) (map[string]Found, error)
	// Granted reports whether a user may read the contents of a folder by a grant, not
	// just as an administrator. It may be nil.
	Granted func(ctx context.Context, user events.User, folder string) (bool, error)
	Lost    func(n int) // called with the number of lost records; may be nil
	Logger  *slog.Logger
	Now     func() time.Time // time.Now if nil
}

// Log keeps records. Its methods are safe for concurrent use.
type Log struct {
	Options
	store *store
	nth   atomic.Int64 // counts the reads that may be sampled

	mu      sync.Mutex
	kept    map[key]*entry
	each    map[string]int // of kept, by source
	lost    int
	spent   map[string]*budget
	closing bool

	writing sync.Mutex // serializes writes
	swept   time.Time
	written int // since then

	stop  context.CancelFunc
	ended chan struct{}
}

// key identifies the accesses that share a record.
type key struct {
	kind                              Kind
	actor                             events.Principal
	via, address, thing, name, detail string
}

// entry is a record that waits or may still be counted up.
type entry struct {
	key
	source   string
	user     events.User
	record   Record
	counted  int // the count last written
	resolved bool
	charged  bool // to its source's budget
	dropped  bool
	number   int64 // in the store; 0 means not yet written
}

// budget is how many records of a source were written in a minute.
type budget struct {
	since        time.Time
	reads, other int
	beyond       map[Kind]*entry // one record of each kind for accesses beyond the budget
}

// begin starts the goroutine that writes and deletes records.
func begin(s *store, o Options) *Log {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Log{Options: o, store: s, kept: map[key]*entry{}, each: map[string]int{}, spent: map[string]*budget{}, stop: stop, ended: make(chan struct{})}
	go l.run(ctx)
	return l
}

func (l *Log) run(ctx context.Context) {
	defer close(l.ended)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		bounded, cancel := context.WithTimeout(ctx, 30*time.Second)
		err := l.flush(bounded)
		if err == nil {
			err = l.sweep(bounded)
		}
		cancel()
		if err != nil && ctx.Err() == nil && !failing {
			l.Logger.Error("records of access cannot be written; they are kept in memory, and lost if there are too many", "error", err)
		}
		failing = err != nil
	}
}

// Close writes the pending records and closes the store.
func (l *Log) Close() error {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.stop()
	<-l.ended
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := l.flush(ctx)
	if err != nil && ctx.Err() == nil {
		l.giveUp()
		err = l.flush(ctx)
	}
	return errors.Join(err, l.store.Close())
}

// giveUp stops looking up folders and leaves them empty.
func (l *Log) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.kept {
		e.resolved = true
	}
}

// Record notes an access. It does not block.
func (l *Log) Record(a Access) {
	if l == nil || !l.wanted(a) {
		return
	}
	k := key{a.Kind, a.User.Principal, a.Via, short(a.Address), short(a.Thing), short(a.Name), short(a.Detail)}
	now := l.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return
	}
	if e := l.kept[k]; e != nil && now.Sub(time.UnixMicro(e.record.Time)) < window {
		e.record.Count++
		e.record.Last = now
		return
	}
	source := string(cmp.Or(a.User.Principal, events.Principal(k.address)))
	if len(l.kept) >= mostKept || l.each[source] >= mostEach {
		l.lost++
		return
	}
	if before := l.kept[k]; before != nil { // its minute is over, but it may not be written yet
		before.key.name += "\x00" + uuid.NewString()
		l.kept[before.key] = before // its old key belongs to the new record
	}
	l.each[source]++
	l.kept[k] = &entry{
		key: k, source: source, user: a.User, resolved: a.Thing == "",
		record: Record{
			Mark: Mark{Time: now.UnixMicro()}, ID: uuid.New(), Last: now, Count: 1, Kind: a.Kind, Actor: a.User.Principal, Via: short(a.Via),
			Correlation: short(a.Correlation), Address: k.address, Thing: k.thing, Name: short(a.Name), Place: string(a.Place), Detail: k.detail,
		},
	}
}

// wanted reports whether to keep an access, before its thing was looked up.
func (l *Log) wanted(a Access) bool {
	switch {
	case a.Kind == Exported:
		return !l.Reads.None
	case a.Kind != Read:
		return true
	case a.User.Admin:
		return !l.Reads.None // whether a grant allows it is looked up later
	}
	return l.sampled()
}

func (l *Log) sampled() bool {
	every := int64(l.Reads.Every)
	return every > 0 && l.nth.Add(1)%every == 0
}

// short truncates a string, which may be untrusted.
func short(s string) string {
	if len(s) <= mostTexts {
		return s
	}
	s = s[:mostTexts]
	for !utf8.ValidString(s) && len(s) > mostTexts-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// flush writes new and changed records.
func (l *Log) flush(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	now := l.Now()
	// Entries that cannot be looked up yet must not delay the others.
	unresolved := l.resolve(ctx, l.waiting(now))
	rows := l.chosen(now)
	if err := l.store.write(ctx, rows); err != nil {
		return errors.Join(err, unresolved)
	}
	l.settle(rows, now)
	l.written += len(rows)
	return unresolved
}

// waiting returns the records to look up, and adds a record if any were lost.
func (l *Log) waiting(now time.Time) (unresolved []*entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost > 0 {
		if l.Options.Lost != nil {
			l.Options.Lost(l.lost)
		}
		k := key{kind: Lost}
		e := l.kept[k]
		if e == nil {
			e = &entry{key: k, resolved: true, charged: true, record: Record{Mark: Mark{Time: now.UnixMicro()}, ID: uuid.New(), Kind: Lost, Via: "access log"}}
			l.kept[k] = e
		}
		e.record.Count += l.lost
		e.record.Last = now
		l.lost = 0
	}
	for _, e := range l.kept {
		if !e.resolved {
			unresolved = append(unresolved, e)
		}
	}
	return unresolved
}

// resolve looks up the things accessed. It drops denials of things that do not exist.
func (l *Log) resolve(ctx context.Context, unresolved []*entry) error {
	const most = 1000 // at once
	things := make([]string, len(unresolved))
	for i, e := range unresolved {
		things[i] = e.thing
	}
	for from := 0; from < len(things); from += most {
		to := min(from+most, len(things))
		found := map[string]Found{}
		if l.Find != nil {
			var err error
			if found, err = l.Find(ctx, things[from:to]); err != nil {
				return err
			}
		}
		for _, e := range unresolved[from:to] {
			if err := l.place(ctx, e, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// place fills in the location and name of a record's thing, and adjusts the record's
// kind and detail accordingly.
func (l *Log) place(ctx context.Context, e *entry, found map[string]Found) error {
	f, ok := found[e.thing]
	kind, drop := e.kind, false
	switch {
	case !ok && e.kind == Denied:
		drop = true
	case !ok && e.kind == Read && e.user.Admin: // such as a summary, which nobody owns
		drop = !l.sampled()
	}
	detail := e.record.Detail
	if ok && (e.kind == Read || e.kind == Exported) && e.user.Admin {
		granted := true
		if l.Granted != nil {
			var err error
			if granted, err = l.Granted(ctx, e.user, f.Place); err != nil {
				return err
			}
		}
		switch {
		case e.kind == Exported && !granted:
			detail = strings.TrimPrefix(detail+", as an administrator", ", ")
		case e.kind == Exported:
		case granted:
			drop = !l.sampled()
		default:
			kind = ReadByAdmin
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.resolved, e.dropped = true, drop
	e.record.Kind, e.record.Detail, e.record.Place, e.record.PlaceName, e.record.Name = kind, detail, f.Place, short(f.PlaceName), short(f.Name)
	return nil
}

// row is a record to write.
type row struct {
	entry  *entry
	number int64 // in the store; 0 means not yet written
	Record
}

// chosen returns the rows to write. Accesses beyond the budget of their source are
// counted in one record.
func (l *Log) chosen(now time.Time) (rows []row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.kept {
		if e.resolved && !e.dropped && !e.charged {
			l.charge(e, now)
		}
	}
	for _, e := range l.kept {
		if e.charged && !e.dropped && e.counted < e.record.Count {
			rows = append(rows, row{e, e.number, e.record})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.Time, b.Time) })
	return rows
}

// charge deducts a new record from its source's budget for the minute.
func (l *Log) charge(e *entry, now time.Time) {
	e.charged = true
	if e.source == "" {
		return
	}
	b := l.spent[e.source]
	if b == nil || now.Sub(b.since) >= window {
		b = &budget{since: now, beyond: map[Kind]*entry{}}
		l.spent[e.source] = b
	}
	n, most := &b.other, eachMinute
	if e.kind == Read || e.kind == Exported {
		n, most = &b.reads, readsEachMinute
	}
	if *n++; *n <= most {
		return
	}
	beyond := b.beyond[e.kind]
	if beyond == nil {
		r := e.record
		r.ID, r.Count, r.Thing, r.Name, r.Place, r.PlaceName, r.Detail = uuid.New(), 0, "", "", "", "", "further ones, which are not listed one by one"
		beyond = &entry{key: e.key, record: r, resolved: true, charged: true}
		beyond.key.name = "\x00" + r.ID.String()
		l.kept[beyond.key] = beyond
		b.beyond[e.kind] = beyond
	}
	beyond.record.Count += e.record.Count
	beyond.record.Last = now
	e.dropped = true
}

// settle marks entries as written and drops those that are complete.
func (l *Log) settle(rows []row, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range rows {
		r.entry.number, r.entry.counted = r.number, r.Count
	}
	for k, e := range l.kept {
		// Dropped entries are removed at once, which frees their budget: otherwise a
		// flood of them would hide later accesses.
		if e.dropped || e.counted == e.record.Count && now.Sub(time.UnixMicro(e.record.Time)) >= window {
			delete(l.kept, k)
			if e.source != "" {
				if l.each[e.source]--; l.each[e.source] <= 0 {
					delete(l.each, e.source)
				}
			}
		}
	}
	for source, b := range l.spent {
		if now.Sub(b.since) >= window {
			delete(l.spent, source)
		}
	}
}
