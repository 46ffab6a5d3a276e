// Package administration prepares what the pages of administrators show: the state of the read
// models, parked events, figures, accounts and the end of the log. It gets all of it from the
// REST interface, which refuses others. It imports no other package of this module.
package administration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Get makes a GET of the REST interface and decodes the reply into out.
type Get func(path string, query url.Values, out any) error

// Model is a read model.
type Model struct {
	Name        string  `json:"name"`
	Version     int     `json:"version"`
	Generation  int     `json:"generation"`
	Position    int64   `json:"position"`
	Head        int64   `json:"head"`
	Lag         float64 `json:"lag_seconds"`
	Parked      int     `json:"parked"`
	Stopped     string  `json:"stopped"`
	Problem     string  `json:"problem"`
	Leader      string  `json:"leader"`
	Rebuild     *Rebuild
	Generations []Generation `json:"generations"`
}

// Rebuild is a rebuild that has not ended, or has failed.
type Rebuild struct {
	Running        bool
	Position, Head int64
	Error          string
}

// Generation is a generation that is not the active one.
type Generation struct {
	Generation, Version int
	State               string
	Position            int64
}

// States says what the states of generations mean.
var States = map[string]string{
	"filling": "being filled", "ready": "ready to be activated", "held": "filled, and waits for an operator", "kept": "kept, so that one can go back to it",
}

// Means says what the state of the generation means.
func (g Generation) Means() string {
	if text := States[g.State]; text != "" {
		return text
	}
	return g.State
}

// Percent returns how much of n is done, from 0 to 100.
func Percent(done, n int64) int {
	if n <= 0 {
		return 0
	}
	return int(min(max(done*100/n, 0), 100))
}

// Done returns how far the rebuild is, in percent.
func (r *Rebuild) Done() int { return Percent(r.Position, r.Head) }

// Busy reports whether the read model is being rebuilt.
func (m Model) Busy() bool { return m.Rebuild != nil && m.Rebuild.Running }

// Behind returns the number of positions that the read model has not applied.
func (m Model) Behind() int64 { return max(0, m.Head-m.Position) }

// Sentences say how the read model is. Grave reports that it needs somebody.
func (m Model) Sentences() (all []Sentence) {
	add := func(grave bool, format string, values ...any) {
		all = append(all, Sentence{fmt.Sprintf(format, values...), grave})
	}
	if m.Stopped != "" {
		add(true, "It has stopped, because an event cannot be applied: %s", m.Stopped)
	}
	if m.Problem != "" {
		add(true, "It cannot be read: %s", m.Problem)
	}
	if m.Rebuild != nil && m.Rebuild.Error != "" {
		add(true, "The last rebuild failed: %s", m.Rebuild.Error)
	}
	if m.Parked > 0 {
		add(true, "%d parked %s could not be applied.", m.Parked, plural(m.Parked, "event", "events"))
	}
	switch {
	case m.Generation == 0:
		add(false, "It is being built for the first time.")
	case m.Behind() > 0 && m.Lag >= 1:
		add(m.Lag > 60, "It is %d %s behind, since %s.", m.Behind(), plural(int(m.Behind()), "position", "positions"), (time.Duration(m.Lag) * time.Second).String())
	case m.Behind() > 0:
		add(false, "It is %d %s behind.", m.Behind(), plural(int(m.Behind()), "position", "positions"))
	case len(all) == 0:
		add(false, "Up to date.")
	}
	return all
}

// Sentence says something about the state of the service.
type Sentence struct {
	Text  string
	Grave bool
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// Parked is an event that could not be applied.
type Parked struct {
	Projection string `json:"projection"`
	Position   int64  `json:"position"`
	Stream     string `json:"stream"`
	Type       string `json:"type"`
	Time       *time.Time
	Reason     string `json:"reason"`
}

// Day has the imports of a day.
type Day struct {
	Date                            string
	Jobs, Files, Successful, Failed int64
}

// Type has the documents of a content type.
type Type struct {
	ContentType string `json:"content_type"`
	Documents   int64
	Bytes       int64
}

// Figures are the numbers of the whole service.
type Figures struct {
	Documents, Folders int64
	Bytes              int64  `json:"original_bytes"`
	Head               int64  `json:"log_head"`
	Imports            []Day  `json:"imports"`
	Types              []Type `json:"types"`
	Stored             struct {
		Log        *int64 `json:"log"`
		ReadModels *int64 `json:"read_models"`
		Search     *int64 `json:"search_index"`
	} `json:"stored_bytes"`
}

// Overview is the content of the first page of administrators.
type Overview struct {
	Models  []Model
	Parked  []Parked
	More    int      // parked events that are not listed
	Figures *Figures // nil if only the read models are wanted
	Imports Chart
	Kinds   Chart
}

// Busy reports whether a read model is being rebuilt, so that the page should be read again soon.
func (o Overview) Busy() bool {
	for _, m := range o.Models {
		if m.Busy() {
			return true
		}
	}
	return false
}

// ReadOverview reads the state of the service, without its figures if only the read models
// are wanted.
func ReadOverview(get Get, onlyModels bool) (o Overview, err error) {
	if err := get("/core/admin/projections", nil, &struct{ Projections *[]Model }{&o.Models}); err != nil {
		return o, err
	}
	parked := false
	for _, m := range o.Models {
		parked = parked || m.Parked > 0
	}
	if parked {
		var list struct {
			Parked []Parked
			More   int
		}
		if err := get("/core/admin/parked", nil, &list); err != nil {
			return o, err
		}
		o.Parked, o.More = list.Parked, list.More
	}
	if onlyModels {
		return o, nil
	}
	if err := get("/core/admin/figures", nil, &o.Figures); err != nil {
		return o, err
	}
	o.Imports, o.Kinds = importsChart(o.Figures.Imports), kindsChart(o.Figures.Types)
	return o, nil
}

// Account is a user of the built-in sign-in.
type Account struct {
	Name     string
	Groups   []string
	Admin    bool
	Disabled bool
	Service  bool
	Created  time.Time  `json:"created_at"`
	SignedIn *time.Time `json:"signed_in_at"`
}

// Group is a group of users.
type Group struct {
	Name    string
	Members []string
}

// Accounts are the users and groups of the built-in sign-in.
type Accounts struct {
	Users  []Account
	Groups []Group
}

// ReadAccounts reads the users and groups.
func ReadAccounts(get Get) (a Accounts, err error) {
	if err := get("/core/admin/users", nil, &a); err != nil {
		return a, err
	}
	return a, get("/core/admin/groups", nil, &a)
}

// Event is an event of the log.
type Event struct {
	Position int64
	Stream   string
	Revision int64
	Type     string
	Metadata json.RawMessage
	Data     json.RawMessage
	Bytes    int64
	Withheld string
}

// JSON returns the metadata and data of the event, indented.
func (e Event) JSON() string {
	var b bytes.Buffer
	for _, part := range []struct {
		name string
		text json.RawMessage
	}{{"metadata", e.Metadata}, {"data", e.Data}} {
		b.WriteString(part.name + ": ")
		if err := json.Indent(&b, part.text, "", "  "); err != nil {
			b.WriteString("?")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Who returns the principal who caused the event, or "".
func (e Event) Who() string {
	var m struct{ Actor string }
	_ = json.Unmarshal(e.Metadata, &m) // an event without an actor is none of a person
	return m.Actor
}

// Time returns when the event was recorded.
func (e Event) Time() time.Time {
	var m struct{ Time time.Time }
	_ = json.Unmarshal(e.Metadata, &m) // the zero time is not shown
	return m.Time
}

// Document returns the id of the document whose stream the event is in, or "".
func (e Event) Document() string {
	id, _ := strings.CutPrefix(e.Stream, "document-")
	if id == e.Stream {
		return ""
	}
	return id
}

// Log is a part of the log.
type Log struct {
	Events        []Event
	Type, Stream  string
	Before, After string
	Older, Newest string // addresses
}

// ReadLog reads the part of the log that the parameters of the address of a page select.
func ReadLog(get Get, page string, q url.Values) (l Log, err error) {
	l = Log{Type: strings.TrimSpace(q.Get("type")), Stream: strings.TrimSpace(q.Get("stream")), Before: strings.TrimSpace(q.Get("before")), After: strings.TrimSpace(q.Get("after"))}
	filter := url.Values{}
	for name, value := range map[string]string{"type": l.Type, "stream": l.Stream, "before": l.Before, "after": l.After} {
		if value != "" {
			filter.Set(name, value)
		}
	}
	var reply struct {
		Events []Event
		Next   int64 `json:"next_before"`
	}
	if err := get("/core/admin/events", filter, &reply); err != nil {
		return l, err
	}
	l.Events = reply.Events
	if l.Before != "" {
		filter.Del("before")
		l.Newest = page + "?" + filter.Encode()
	}
	if reply.Next > 0 {
		filter.Set("before", strconv.FormatInt(reply.Next, 10))
		l.Older = page + "?" + filter.Encode()
	}
	return l, nil
}
