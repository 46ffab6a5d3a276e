package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"annals/commands/quota"
	"annals/events"
	"annals/projections"
)

// limitsNote is the name under which a server notes its limits.
const limitsNote = "limits"

// notedLimits are the limits with which a server was started, by the names of
// kinds, so that a program of another version can read them.
type notedLimits struct {
	User       map[string]int64                      `json:"user"`
	Principals map[events.Principal]map[string]int64 `json:"principals,omitempty"`
}

// noteLimits has commands that run beside the server know what it was started
// with.
func noteLimits(ctx context.Context, control *projections.Control, p *quota.Policy) error {
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

// policyBeside returns the limits of the server that was started last, and when
// that was; where none has noted them, those of c and the zero time. Settings of
// the command that say otherwise are reported to warn.
func (c *quotaConfig) policyBeside(ctx context.Context, control *projections.Control, warn io.Writer) (p *quota.Policy, started time.Time, err error) {
	p = &quota.Policy{User: c.user}
	if p.Principals, err = c.principals(); err != nil {
		return nil, started, err
	}
	text, started, err := control.Noted(ctx, limitsNote)
	if err != nil || text == "" {
		return p, started, err
	}
	var n notedLimits
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return nil, started, fmt.Errorf("read with which limits serve was started: %w; the next start of serve notes them again", err)
	}
	for _, k := range quota.Kinds() {
		limit, ok := n.User[k.String()]
		if !ok { // the server is of a version that does not know it
			continue
		}
		if c.user[k] != quota.Default[k] && c.user[k] != limit {
			fmt.Fprintf(warn, "annals: quota-%s is %s for this command, but serve was started with %s, which is shown\n", k, k.ShowLimit(c.user[k]), k.ShowLimit(limit))
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
