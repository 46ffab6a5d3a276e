package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"annals/commands/quota"
	"annals/events"
	"annals/projections/control"
)

// limitsNote is the name of the note in the control store with a server's limits.
const limitsNote = "limits"

// notedLimits are the limits with which a server was started, by the names of
// kinds, so that a program of another version can read them.
type notedLimits struct {
	User       map[string]int64                      `json:"user"`
	Principals map[events.Principal]map[string]int64 `json:"principals,omitempty"`
}

// Note stores the limits of a server in the control store, where commands beside
// the server read them.
func Note(ctx context.Context, control *control.Store, p *quota.Policy) error {
	n := notedLimits{User: make(map[string]int64), Principals: make(map[events.Principal]map[string]int64)}
	for _, k := range quota.Kinds() {
		n.User[k.String()] = p.User[k]
	}
	for principal, o := range p.Principals {
		set := make(map[string]int64)
		for k, limit := range o {
			set[k.String()] = limit
		}
		n.Principals[principal] = set
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return control.Note(ctx, limitsNote, string(text))
}

// Noted returns the limits of the server that was started last, and when that was.
// If none has noted its limits, they are those of s, and the time is zero. Settings
// in s that differ from a server's are reported to warn.
func (s *Settings) Noted(ctx context.Context, control *control.Store, warn io.Writer) (p *quota.Policy, started time.Time, err error) {
	p = &quota.Policy{User: s.User}
	if p.Principals, err = s.Principals(); err != nil {
		return nil, started, err
	}
	text, started, err := control.Noted(ctx, limitsNote)
	if err != nil || text == "" {
		return p, started, err
	}
	var n notedLimits
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return nil, started, fmt.Errorf("read the limits of the server: %w; start serve again to store them anew", err)
	}
	for _, k := range quota.Kinds() {
		limit, ok := n.User[k.String()]
		if !ok { // the server is of a version that does not know it
			continue
		}
		if s.User[k] != quota.Default[k] && s.User[k] != limit {
			fmt.Fprintf(warn, "annals: quota-%s is %s for this command, but serve was started with %s, which is shown\n", k, k.ShowLimit(s.User[k]), k.ShowLimit(limit))
		}
		p.User[k] = limit
	}
	p.Principals = make(map[events.Principal]quota.Override)
	for principal, set := range n.Principals {
		o := make(quota.Override)
		for name, limit := range set {
			if k, ok := quota.ParseKind(name); ok {
				o[k] = limit
			}
		}
		p.Principals[principal] = o
	}
	return p, started, nil
}
