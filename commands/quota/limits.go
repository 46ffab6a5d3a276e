// Package quota limits how much of the service each user and each top-level folder may use:
// stored bytes and documents, files in progress, changes per hour, and search time per
// minute. It checks usage, which the read models count, against the limits, and words the
// refusals. It imports events and events/fault.
package quota

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"

	"github.com/dustin/go-humanize"
)

// Kind is what a limit applies to.
type Kind uint8

// The kinds. Search is a time.Duration per minute and Changed a number of bytes per
// hour; the others are totals.
const (
	Bytes     Kind = iota // bytes of all versions of originals and their texts, and of files in progress
	Documents             // including files in progress that will become documents
	Folders
	Shares  // entries in permission lists that the user added
	Imports // files in progress
	Search  // time that searches, questions and listings take per minute
	Changed // bytes of events that changes add to the log per hour
	kinds
)

var names = [kinds]string{"bytes", "documents", "folders", "shares", "imports", "search", "changes"}

// Kinds returns every kind.
func Kinds() (all []Kind) {
	for k := range kinds {
		all = append(all, k)
	}
	return all
}

// String returns the name of a kind in flags, overrides and metrics.
func (k Kind) String() string { return names[k] }

// ParseKind is the inverse of String.
func ParseKind(name string) (Kind, bool) {
	for k, n := range names {
		if n == name {
			return Kind(k), true
		}
	}
	return 0, false
}

// Limits has a limit for each kind; 0 means unlimited.
type Limits [kinds]int64

// Default has the limits of a user for whom no others are set.
var Default = Limits{
	Bytes: 20 << 30, Documents: 100_000, Folders: 10_000, Shares: 10_000, Imports: 10_000, Search: int64(30 * time.Second),
	Changed: 16 << 20,
}

// DefaultFolder has the limits of a top-level folder, including everything below it. Only
// bytes and documents are limited.
var DefaultFolder = Limits{Bytes: 200 << 30, Documents: 1_000_000}

// Override has limits of one user that replace the general limits. In JSON its keys are the
// names of kinds, and times are in nanoseconds.
type Override map[Kind]int64

// MarshalText returns the name of a kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText sets k to the kind with this name.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	known, ok := ParseKind(string(text))
	if !ok {
		return fault.Errorf(fault.Invalid, "%.80q is not a kind of limit: the kinds are %s", text, strings.Join(names[:], ", "))
	}
	*k = known
	return nil
}

// apply returns l with the limits of o replaced.
func (o Override) apply(l Limits) Limits {
	for k, value := range o {
		l[k] = value
	}
	return l
}

// Policy has the limits of all users.
type Policy struct {
	User, Folder Limits
	// Principals has the limits that are configured for single users.
	Principals map[events.Principal]Override
	// Override returns limits that were set for a user at run time. They take precedence
	// over Principals. It may be nil.
	Override func(context.Context, events.Principal) (Override, error)
}

// Of returns the limits of a user; administrators have none.
func (p *Policy) Of(ctx context.Context, user events.User) (Limits, error) {
	if p == nil || user.Admin {
		return Limits{}, nil
	}
	limits := p.Principals[user.Principal].apply(p.User)
	if p.Override == nil {
		return limits, nil
	}
	o, err := p.Override(ctx, user.Principal)
	return o.apply(limits), err
}

// Parse parses a limit as written in flags: a size with a unit, a duration, or a number,
// depending on its kind. Both 0 and "unlimited" mean no limit.
func Parse(k Kind, text string) (n int64, err error) {
	if text == "unlimited" {
		return 0, nil
	}
	switch k {
	case Bytes, Changed:
		var size uint64
		size, err = humanize.ParseBytes(text)
		n = int64(size)
	case Search:
		var d time.Duration
		if d, err = time.ParseDuration(text); text == "0" {
			d, err = 0, nil
		}
		n = int64(d)
	default:
		n, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil || n < 0 {
		return 0, fault.Errorf(fault.Invalid, "%q is not a limit for %s: write it as %s, or 0 for no limit", text, k, k.Example())
	}
	return n, nil
}

// Example returns limits of a kind as written in flags, for errors.
func (k Kind) Example() string { return examples[k] }

var examples = [kinds]string{Bytes: "50GiB or 500MB", Documents: "100000", Folders: "1000", Shares: "1000", Imports: "500", Search: "30s", Changed: "16MiB"}

// Show formats an amount of a kind for people.
func (k Kind) Show(n int64) string {
	switch k {
	case Bytes, Changed:
		return humanize.IBytes(uint64(max(0, n)))
	case Search:
		return time.Duration(n).Round(time.Millisecond).String()
	}
	return strconv.FormatInt(n, 10)
}

// ShowLimit is like Show, but formats 0 as "unlimited".
func (k Kind) ShowLimit(n int64) string {
	if n == 0 {
		return "unlimited"
	}
	return k.Show(n)
}

// ParseOverride parses limits of one user, written as PRINCIPAL=KIND=VALUE,KIND=VALUE,…
func ParseOverride(text string) (events.Principal, Override, error) {
	principal, list, ok := strings.Cut(text, "=")
	p, o := events.Principal(principal), Override{}
	if !ok || !p.IsUser() {
		return "", nil, fault.Errorf(fault.Invalid, "%q is not a list of limits for a user: write it as user:ALIAS/NAME=bytes=50GiB,documents=5000", text)
	}
	for _, one := range strings.Split(list, ",") {
		name, value, _ := strings.Cut(one, "=")
		k, ok := ParseKind(name)
		if !ok {
			return "", nil, fault.Errorf(fault.Invalid, "%q: %q is not a kind of limit: the kinds are %s", text, name, strings.Join(names[:], ", "))
		}
		n, err := Parse(k, value)
		if err != nil {
			return "", nil, fmt.Errorf("%q: %w", text, err)
		}
		o[k] = n
	}
	return p, o, nil
}

func (l Limits) minus(other Limits) Limits {
	for k := range l {
		l[k] -= other[k]
	}
	return l
}

func (l Limits) plus(other Limits) Limits {
	for k := range l {
		l[k] += other[k]
	}
	return l
}
