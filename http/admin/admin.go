// Package admin has the routes of administrators below /core/admin: the state of the read models, rebuilds, parked
// events, the end of the log, accounts and figures. It imports events, events/fault, http/form, http/problem,
// http/signin/accounts and queries.
package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/http/form"
	"annals/http/problem"
	"annals/http/signin/accounts"
	"annals/queries"

	"github.com/gorilla/mux"
)

// Models are the read models. *projections.Set implements it.
type Models interface {
	States(ctx context.Context) ([]queries.ModelState, error)
	Rebuilds() map[string]queries.Rebuilding
	StartRebuild(again bool, names ...string) error
	Parked(ctx context.Context, name string, limit int) (page []queries.ParkedEvent, more int, err error)
	CanRetry(ctx context.Context, name string) (bool, error)
}

// Accounts are the accounts of the built-in sign-in. *accounts.Store implements it.
type Accounts interface {
	List(ctx context.Context) ([]accounts.Account, error)
}

// Service answers the requests of administrators. Whoever calls it has checked that the user is one.
type Service struct {
	Models   Models
	Log      Log
	Accounts Accounts
	Figures  func(ctx context.Context, since time.Time) (queries.Figures, error)
	// Stored returns how many bytes the log, the read_models and the search_index take on the disks of this machine.
	Stored func() map[string]int64
}

// model is a read model in the reply to GET /admin/projections.
type model struct {
	Name        string          `json:"name"`
	Version     int             `json:"version"`
	Generation  int             `json:"generation"`
	Position    events.Position `json:"position"`
	Head        events.Position `json:"head"`
	Lag         float64         `json:"lag_seconds"`
	Parked      int             `json:"parked"`
	Stopped     *string         `json:"stopped"`
	Problem     *string         `json:"problem"`
	Leader      *string         `json:"leader"`
	Rebuild     *rebuild        `json:"rebuild"`
	Generations []other         `json:"generations"`
}

type rebuild struct {
	Running  bool            `json:"running"`
	Position events.Position `json:"position"`
	Head     events.Position `json:"head"`
	Error    *string         `json:"error"`
}

type other struct {
	Generation int             `json:"generation"`
	Version    int             `json:"version"`
	State      string          `json:"state"`
	Position   events.Position `json:"position"`
}

// Projections answers GET /admin/projections.
func (s *Service) Projections(r *http.Request) (int, any, error) {
	states, err := s.Models.States(r.Context())
	if err != nil {
		return 0, nil, err
	}
	rebuilds := s.Models.Rebuilds()
	out := []model{}
	for _, m := range states {
		one := model{m.Name, m.Version, m.Generation, m.Position, m.Head, m.Lag.Seconds(), m.Parked, orNull(m.Stopped), orNull(m.Problem), orNull(m.Leader), nil, []other{}}
		if b, ok := rebuilds[m.Name]; ok {
			one.Rebuild = &rebuild{b.Running, b.Done, b.Head, orNull(b.Error)}
		}
		for _, g := range m.Inactive {
			one.Generations = append(one.Generations, other{g.Generation, g.Version, g.State, g.Position})
		}
		out = append(out, one)
	}
	return http.StatusOK, map[string]any{"projections": out}, nil
}

type started struct {
	Rebuilding []string `json:"rebuilding"`
	Unreadable []string `json:"unreadable"`
}

// Rebuild answers POST /admin/projections/{name}/rebuild.
func (s *Service) Rebuild(r *http.Request) (int, any, error) {
	name := mux.Vars(r)["name"]
	return http.StatusAccepted, started{[]string{name}, []string{}}, s.Models.StartRebuild(false, name)
}

// parkedEvent is an event in the reply to GET /admin/parked.
type parkedEvent struct {
	Projection string          `json:"projection"`
	Position   events.Position `json:"position"`
	Stream     string          `json:"stream"`
	Revision   int64           `json:"revision"`
	Type       string          `json:"type"`
	Time       *time.Time      `json:"time"`
	Reason     string          `json:"reason"`
}

// maxParked is the maximum number of parked events of a read model in a reply.
const maxParked = 100

// Parked answers GET /admin/parked.
func (s *Service) Parked(r *http.Request) (int, any, error) {
	states, err := s.Models.States(r.Context())
	if err != nil {
		return 0, nil, err
	}
	out, left := []parkedEvent{}, 0
	for _, m := range states {
		if m.Parked == 0 {
			continue
		}
		page, more, err := s.Models.Parked(r.Context(), m.Name, maxParked)
		if err != nil {
			return 0, nil, err
		}
		left += more
		for _, e := range page {
			one := parkedEvent{m.Name, e.Position, e.Stream, e.Revision, e.Type, nil, e.Reason}
			if !e.Time.IsZero() {
				one.Time = &e.Time
			}
			out = append(out, one)
		}
	}
	return http.StatusOK, map[string]any{"parked": out, "more": left}, nil
}

// Retry answers POST /admin/parked/retry. Like annals projections --retry it rebuilds the read models that have parked
// events, unless this program cannot read these events.
func (s *Service) Retry(r *http.Request) (int, any, error) {
	states, err := s.Models.States(r.Context())
	if err != nil {
		return 0, nil, err
	}
	out := started{[]string{}, []string{}}
	for _, m := range states {
		if m.Parked == 0 {
			continue
		}
		can, err := s.Models.CanRetry(r.Context(), m.Name)
		switch {
		case err != nil:
			return 0, nil, err
		case can:
			out.Rebuilding = append(out.Rebuilding, m.Name)
		default:
			out.Unreadable = append(out.Unreadable, m.Name)
		}
	}
	if len(out.Rebuilding) > 0 {
		err = s.Models.StartRebuild(true, out.Rebuilding...)
	}
	return http.StatusAccepted, out, err
}

type account struct {
	Name     string     `json:"name"`
	Groups   []string   `json:"groups"`
	Admin    bool       `json:"admin"`
	Disabled bool       `json:"disabled"`
	Service  bool       `json:"service"`
	Created  time.Time  `json:"created_at"`
	SignedIn *time.Time `json:"signed_in_at"`
}

// errNoAccounts is the error if users sign in elsewhere.
var errNoAccounts = fault.Errorf(fault.NotFound, "there is no built-in sign-in, so its accounts are unknown here")

// Users answers GET /admin/users.
func (s *Service) Users(r *http.Request) (int, any, error) {
	if s.Accounts == nil {
		return 0, nil, errNoAccounts
	}
	all, err := s.Accounts.List(r.Context())
	out := []account{}
	for _, a := range all {
		one := account{a.Name, append([]string{}, a.Groups...), a.Admin, a.Disabled, a.Service, a.Created, nil}
		if !a.SignedIn.IsZero() {
			one.SignedIn = &a.SignedIn
		}
		out = append(out, one)
	}
	return http.StatusOK, map[string]any{"users": out}, err
}

type group struct {
	Name    string   `json:"name"`
	Members []string `json:"members"`
}

// Groups answers GET /admin/groups.
func (s *Service) Groups(r *http.Request) (int, any, error) {
	if s.Accounts == nil {
		return 0, nil, errNoAccounts
	}
	all, err := s.Accounts.List(r.Context())
	members := map[string][]string{}
	for _, a := range all {
		for _, g := range a.Groups {
			members[g] = append(members[g], a.Name)
		}
	}
	out := []group{}
	for name, users := range members {
		out = append(out, group{name, users})
	}
	slices.SortFunc(out, func(a, b group) int { return strings.Compare(a.Name, b.Name) })
	return http.StatusOK, map[string]any{"groups": out}, err
}

type day struct {
	Date       string `json:"date"`
	Jobs       int    `json:"jobs"`
	Files      int    `json:"files"`
	Successful int    `json:"successful"`
	Failed     int    `json:"failed"`
}

type documentType struct {
	ContentType string `json:"content_type"`
	Documents   int64  `json:"documents"`
	Bytes       int64  `json:"bytes"`
}

// stored are bytes on the disks of this machine; nil if a server keeps them.
type stored struct {
	Log        *int64 `json:"log"`
	ReadModels *int64 `json:"read_models"`
	Search     *int64 `json:"search_index"`
}

// figuredDays is the number of days in the reply to GET /admin/figures.
const figuredDays = 30

// Numbers answers GET /admin/figures.
func (s *Service) Numbers(r *http.Request) (int, any, error) {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	f, err := s.Figures(r.Context(), today.AddDate(0, 0, 1-figuredDays))
	if err != nil {
		return 0, nil, err
	}
	head, err := s.Log.Head(r.Context())
	days := make([]day, figuredDays)
	for i := range days {
		days[i].Date = today.AddDate(0, 0, i+1-figuredDays).Format(time.DateOnly)
		for _, d := range f.Imports {
			if d.Date == days[i].Date {
				days[i] = day(d)
			}
		}
	}
	types := []documentType{}
	for _, t := range f.Types {
		types = append(types, documentType(t))
	}
	return http.StatusOK, struct {
		Documents int64           `json:"documents"`
		Folders   int64           `json:"folders"`
		Bytes     int64           `json:"original_bytes"`
		Head      events.Position `json:"log_head"`
		Types     []documentType  `json:"types"`
		Stored    stored          `json:"stored_bytes"`
		Imports   []day           `json:"imports"`
	}{f.Documents, f.Folders, f.Bytes, head, types, s.stored(), days}, err
}

func (s *Service) stored() (here stored) {
	if s.Stored == nil {
		return here
	}
	all := s.Stored()
	for name, to := range map[string]**int64{"log": &here.Log, "read_models": &here.ReadModels, "search_index": &here.Search} {
		if bytes, local := all[name]; local {
			*to = &bytes
		}
	}
	return here
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Tail answers GET /admin/events.
func (s *Service) Tail(r *http.Request) (int, any, error) {
	var found problem.Fields
	t := Tail{
		Before: events.Position(form.QueryInt(r, "before", 0, maxPosition, &found)), After: events.Position(form.QueryInt(r, "after", 0, maxPosition, &found)),
		Type: r.URL.Query().Get("type"), Stream: r.URL.Query().Get("stream"), Limit: form.QueryInt(r, "limit", DefaultTail, MaxTail, &found),
	}
	if err := found.Err(); err != nil {
		return 0, nil, err
	}
	list, next, err := t.Read(r.Context(), s.Log)
	out := []event{}
	for _, record := range list {
		out = append(out, eventOf(record))
	}
	body := struct {
		Events []event          `json:"events"`
		Next   *events.Position `json:"next_before"`
	}{out, nil}
	if next > 0 {
		body.Next = &next
	}
	return http.StatusOK, body, err
}
