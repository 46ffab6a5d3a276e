// Package quota says how much of the service one user and one folder may take:
// what is stored, what is in work, and how much time searches take a minute.
// It holds the limits, judges usage by them, and words what is refused. Usage
// is counted elsewhere and handed in.
//
// It imports events and events/fault.
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

// Kind is a thing that is limited.
type Kind uint8

// The kinds. All but Search and Changed are counted; Search is a time.Duration a
// minute, Changed are bytes an hour.
const (
	Bytes     Kind = iota // of originals and their text, in all versions that are kept, and of files in work
	Documents             // and files in work that are to become documents
	Folders               //
	Shares                // entries in permission lists
	Imports               // files in work
	Search                // time that searches, questions and listings take, a minute
	Changed               // bytes of events that changes add to the log, an hour
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

// String returns the name of a kind: in flags, overrides and metrics.
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

// Limits are how much there may be of each kind; 0: as much as there is.
type Limits [kinds]int64

// Default are the limits of a user where nothing else is said.
var Default = Limits{
	Bytes: 20 << 30, Documents: 100_000, Folders: 10_000, Shares: 10_000, Imports: 10_000, Search: int64(30 * time.Second),
	Changed: 16 << 20,
}

// DefaultFolder are the limits of a top-level folder with all below it, of which
// only bytes and documents are counted.
var DefaultFolder = Limits{Bytes: 200 << 30, Documents: 1_000_000}

// Override is what another limit than the general one was set for: as JSON it
// goes by the names of kinds, with times in nanoseconds.
type Override map[Kind]int64

// MarshalText writes a kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	known, ok := ParseKind(string(text))
	if !ok {
		return fault.Errorf(fault.Invalid, "%.80q is no limit: there are %s", text, strings.Join(names[:], ", "))
	}
	*k = known
	return nil
}

// on returns limits with those of o in place of theirs.
func (o Override) on(l Limits) Limits {
	for k, value := range o {
		l[k] = value
	}
	return l
}

// Policy says what the limits of each user are.
type Policy struct {
	User, Folder Limits
	// Principals have other limits by configuration.
	Principals map[events.Principal]Override
	// Override returns what was set for a user while the service runs. It comes
	// before Principals. May be nil.
	Override func(context.Context, events.Principal) (Override, error)
}

// Of returns the limits of a user, whoever may do everything being under none.
func (p *Policy) Of(ctx context.Context, user events.User) (Limits, error) {
	if p == nil || user.Admin {
		return Limits{}, nil
	}
	limits := p.Principals[user.Principal].on(p.User)
	if p.Override == nil {
		return limits, nil
	}
	o, err := p.Override(ctx, user.Principal)
	return o.on(limits), err
}

// Parse reads a limit of a kind as flags have it: a size with its unit, a time,
// or a number. 0 and "unlimited" lift it.
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
		return 0, fault.Errorf(fault.Invalid, "%q is no limit of %s: write it as %s, or as 0 for none", text, k, examples[k])
	}
	return n, nil
}

var examples = [kinds]string{Bytes: "50GiB or 500MB", Documents: "100000", Folders: "1000", Shares: "1000", Imports: "500", Search: "30s", Changed: "16MiB"}

// Show writes an amount of a kind for people.
func (k Kind) Show(n int64) string {
	switch k {
	case Bytes, Changed:
		return humanize.IBytes(uint64(max(0, n)))
	case Search:
		return time.Duration(n).Round(time.Millisecond).String()
	}
	return strconv.FormatInt(n, 10)
}

// ShowLimit is Show of a limit.
func (k Kind) ShowLimit(n int64) string {
	if n == 0 {
		return "unlimited"
	}
	return k.Show(n)
}

// ParseOverride reads PRINCIPAL=KIND=VALUE,… of a configuration.
func ParseOverride(text string) (events.Principal, Override, error) {
	principal, list, ok := strings.Cut(text, "=")
	p, o := events.Principal(principal), Override{}
	if !ok || !p.IsUser() {
		return "", nil, fault.Errorf(fault.Invalid, "%q: write it as user:ALIAS/NAME=bytes=50GiB,documents=5000", text)
	}
	for _, one := range strings.Split(list, ",") {
		name, value, _ := strings.Cut(one, "=")
		k, ok := ParseKind(name)
		if !ok {
			return "", nil, fault.Errorf(fault.Invalid, "%q: %q is no limit: there are %s", text, name, strings.Join(names[:], ", "))
		}
		n, err := Parse(k, value)
		if err != nil {
			return "", nil, fmt.Errorf("%q: %w", text, err)
		}
		o[k] = n
	}
	return p, o, nil
}
