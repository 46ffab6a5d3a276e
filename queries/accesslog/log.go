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

const (
	writeInterval = 500 * time.Millisecond // a crash may lose the records since the last write
	window        = time.Minute            // equal accesses within a window share a record

	maxPending   = 20_000 // records in memory: not yet written, or still within their window
	maxPerSource = 4_000  // pending records of one user or address
	maxText      = 512    // bytes of each string in a record
)

// Limits of records per minute for one user or address. Accesses beyond a limit are
// counted in a single record.
const (
	minuteLimit     = 120
	minuteReadLimit = 6_000 // for reads and exports, which are counted separately
)

// Options configure a Log.
type Options struct {
	Reads     Reads
	Retention time.Duration // after which records are deleted; 0 means never
	Bytes     int64         // approximate limit of the size of all records, beyond which the oldest are deleted; 0 means unlimited
	// Find returns the locations and names of things. A thing that is not in the result
	// does not exist. Find may be nil.
	Find func(ctx context.Context, things []string) (map[string]Found, error)
	// Granted reports whether a permission lets a user read the contents of a folder,
	// without regard to the administrator role. It may be nil.
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
	pending map[key]*entry
	counts  map[string]int // number of pending records of each source
	lost    int            // number of records lost since the last write
	budgets map[string]*budget
	closing bool

	writing sync.Mutex // serializes writes
	swept   time.Time
	written int // number of records written since swept

	stop  context.CancelFunc
	ended chan struct{}
}

// key identifies the accesses that share a record.
type key struct {
	kind                              Kind
	actor                             events.Principal
	via, address, thing, name, detail string
}

// entry is a record in memory: it is not yet written, or its count may still rise.
type entry struct {
	key
	source   string // user or address
	user     events.User
	record   Record
	counted  int   // the count last written
	resolved bool  // its thing was looked up, or need not be
	charged  bool  // it was deducted from the budget of its source
	dropped  bool  // it is not to be written
	number   int64 // in the store; 0 means not yet written
}

// budget counts the records of a source in a minute.
type budget struct {
	since        time.Time
	reads, other int
	beyond       map[Kind]*entry // the records that count accesses beyond the limit
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
	l := &Log{Options: o, store: s, pending: map[key]*entry{}, counts: map[string]int{}, budgets: map[string]*budget{}, stop: stop, ended: make(chan struct{})}
	go l.run(ctx)
	return l
}

func (l *Log) run(ctx context.Context) {
	defer close(l.ended)
	tick := time.NewTicker(writeInterval)
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
			l.Logger.Error("cannot write access records; they stay in memory, and are lost if there are too many", "error", err)
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

// giveUp marks all records as resolved, so that they are written without the locations
// and names of their things.
func (l *Log) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.pending {
		e.resolved = true
	}
}

// Record records an access. It does not block.
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
	if e := l.pending[k]; e != nil && now.Sub(time.UnixMicro(e.record.Time)) < window {
		e.record.Count++
		e.record.Last = now
		return
	}
	source := string(cmp.Or(a.User.Principal, events.Principal(k.address)))
	if len(l.pending) >= maxPending || l.counts[source] >= maxPerSource {
		l.lost++
		return
	}
	if before := l.pending[k]; before != nil { // the window of the old record is over, but it may not be written yet
		before.key.name += "\x00" + uuid.NewString()
		l.pending[before.key] = before // k now belongs to the new record
	}
	l.counts[source]++
	l.pending[k] = &entry{
		key: k, source: source, user: a.User, resolved: a.Thing == "",
		record: Record{
			Mark: Mark{Time: now.UnixMicro()}, ID: uuid.New(), Last: now, Count: 1, Kind: a.Kind, Actor: a.User.Principal, Via: short(a.Via),
			Correlation: short(a.Correlation), Address: k.address, Thing: k.thing, Name: short(a.Name), Place: string(a.Place), Detail: k.detail,
		},
	}
}

// wanted reports whether to record an access. For a read by an administrator, the
// method place decides again after it has looked up the document.
func (l *Log) wanted(a Access) bool {
	switch {
	case a.Kind == Exported:
		return !l.Reads.None
	case a.Kind != Read:
		return true
	case a.User.Admin:
		return !l.Reads.None // method place looks up whether a grant allows the read
	}
	return l.sampled()
}

// sampled reports whether the next read is in the sample.
func (l *Log) sampled() bool {
	every := int64(l.Reads.Every)
	return every > 0 && l.nth.Add(1)%every == 0
}

// short truncates a string, which may be untrusted.
func short(s string) string {
	if len(s) <= maxText {
		return s
	}
	s = s[:maxText]
	for !utf8.ValidString(s) && len(s) > maxText-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// flush writes new and changed records.
func (l *Log) flush(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	now := l.Now()
	// If some things cannot be looked up, the other records are still written.
	unresolved := l.resolve(ctx, l.unresolved(now))
	rows := l.rows(now)
	if err := l.store.write(ctx, rows); err != nil {
		return errors.Join(err, unresolved)
	}
	l.settle(rows, now)
	l.written += len(rows)
	return unresolved
}

// unresolved returns the records whose things must be looked up. If records were lost, it
// adds one that says how many.
func (l *Log) unresolved(now time.Time) (unresolved []*entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost > 0 {
		if l.Options.Lost != nil {
			l.Options.Lost(l.lost)
		}
		k := key{kind: Lost}
		e := l.pending[k]
		if e == nil {
			e = &entry{key: k, resolved: true, charged: true, record: Record{Mark: Mark{Time: now.UnixMicro()}, ID: uuid.New(), Kind: Lost, Via: "access log"}}
			l.pending[k] = e
		}
		e.record.Count += l.lost
		e.record.Last = now
		l.lost = 0
	}
	for _, e := range l.pending {
		if !e.resolved {
			unresolved = append(unresolved, e)
		}
	}
	return unresolved
}

// resolve looks up the things of records. It drops denials of things that do not exist.
// Documents, folders and jobs are looked up separately, so that a stopped read model
// does not delay records about things in other read models.
func (l *Log) resolve(ctx context.Context, unresolved []*entry) error {
	kinds := map[string][]*entry{}
	for _, e := range unresolved {
		kind, _, _ := strings.Cut(e.thing, "-")
		kinds[kind] = append(kinds[kind], e)
	}
	var errs []error
	for _, entries := range kinds {
		errs = append(errs, l.resolveKind(ctx, entries))
	}
	return errors.Join(errs...)
}

func (l *Log) resolveKind(ctx context.Context, unresolved []*entry) error {
	const batch = 1000 // things in one query
	for entries := range slices.Chunk(unresolved, batch) {
		found := map[string]Found{}
		if l.Find != nil {
			things := make([]string, len(entries))
			for i, e := range entries {
				things[i] = e.thing
			}
			var err error
			if found, err = l.Find(ctx, things); err != nil {
				return err
			}
		}
		for _, e := range entries {
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
	case !ok && e.kind == Read && e.user.Admin: // no grant to check, for example for a summary
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
	number int64 // in the store; 0 means that it is new
	Record
}

// rows returns the rows to write. It applies the limits of the sources.
func (l *Log) rows(now time.Time) (rows []row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.pending {
		if e.resolved && !e.dropped && !e.charged {
			l.charge(e, now)
		}
	}
	for _, e := range l.pending {
		if e.charged && !e.dropped && e.counted < e.record.Count {
			rows = append(rows, row{e, e.number, e.record})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.Time, b.Time) })
	return rows
}

// charge counts a new record in the budget of its source. Beyond the limit it drops the
// record, and counts it in the record of accesses beyond the limit.
func (l *Log) charge(e *entry, now time.Time) {
	e.charged = true
	if e.source == "" {
		return
	}
	b := l.budgets[e.source]
	if b == nil || now.Sub(b.since) >= window {
		b = &budget{since: now, beyond: map[Kind]*entry{}}
		l.budgets[e.source] = b
	}
	n, limit := &b.other, minuteLimit
	if e.kind == Read || e.kind == Exported {
		n, limit = &b.reads, minuteReadLimit
	}
	if *n++; *n <= limit {
		return
	}
	beyond := b.beyond[e.kind]
	if beyond == nil {
		r := e.record
		r.ID, r.Count, r.Thing, r.Name, r.Place, r.PlaceName, r.Detail = uuid.New(), 0, "", "", "", "", "further ones, which are not listed one by one"
		beyond = &entry{key: e.key, record: r, resolved: true, charged: true}
		beyond.key.name = "\x00" + r.ID.String()
		l.pending[beyond.key] = beyond
		b.beyond[e.kind] = beyond
	}
	beyond.record.Count += e.record.Count
	beyond.record.Last = now
	e.dropped = true
}

// settle marks entries as written, and removes those that cannot change any more.
func (l *Log) settle(rows []row, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range rows {
		r.entry.number, r.entry.counted = r.number, r.Count
	}
	for k, e := range l.pending {
		// Remove dropped entries immediately: otherwise a flood of them would use up
		// maxPerSource, and later accesses of the source would be lost.
		if e.dropped || e.counted == e.record.Count && now.Sub(time.UnixMicro(e.record.Time)) >= window {
			delete(l.pending, k)
			if e.source != "" {
				if l.counts[e.source]--; l.counts[e.source] <= 0 {
					delete(l.counts, e.source)
				}
			}
		}
	}
	for source, b := range l.budgets {
		if now.Sub(b.since) >= window {
			delete(l.budgets, source)
		}
	}
}
