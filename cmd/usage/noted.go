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

// limitsNote is the name under which a server stores its limits in the control store.
const limitsNote = "limits"

// notedLimits are the limits of a server. Kinds of limits are stored by name, so that
// other versions of the program can read them.
type notedLimits struct {
	User       map[string]int64                      `json:"user"`
	Principals map[events.Principal]map[string]int64 `json:"principals,omitempty"`
}

// Note stores the limits of a server in the control store, so that commands can show them.
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

// OfServer returns the limits that the server stored at its last start, and the time of
// that start. If no server has stored its limits, it returns the limits in s and a zero time. For
// each limit in s that differs from that of the server, it prints a warning to warn.
func (s *Settings) OfServer(ctx context.Context, control *control.Store, warn io.Writer) (p *quota.Policy, started time.Time, err error) {
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
		return nil, started, fmt.Errorf("read the limits that the server has stored: %w; restart serve to store them again", err)
	}
	for _, k := range quota.Kinds() {
		limit, ok := n.User[k.String()]
		if !ok { // a server of an older version has no such limit
			continue
		}
		if s.User[k] != quota.Default[k] && s.User[k] != limit {
			fmt.Fprintf(warn, "annals: warning: --quota-%s %s is ignored, because serve was started with %s\n", k, k.ShowLimit(s.User[k]), k.ShowLimit(limit))
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
