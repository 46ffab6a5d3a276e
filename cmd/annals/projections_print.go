package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"annals/events"
	"annals/projections"
)

// projectionLine is a read model as --json prints it.
type projectionLine struct {
	Kind       string          `json:"kind"` // projection
	Name       string          `json:"name"`
	Version    int             `json:"version"`         // of what serves
	Makes      int             `json:"program_version"` // that this program makes
	Generation int             `json:"generation"`      // that serves, 0 for none yet
	Position   events.Position `json:"position"`
	Head       events.Position `json:"head"`
	LagEvents  events.Position `json:"lag_events"`
	LagSeconds float64         `json:"lag_seconds"`
	Rate       float64         `json:"events_per_second"`
	Parked     int             `json:"parked"`
	Spares     []spareLine     `json:"spares,omitempty"`
	Leader     string          `json:"leader,omitempty"`        // the node that brings it forward, of those that share it
	Silent     bool            `json:"leader_silent,omitempty"` // it does not tell any more that it is there
	Problem    string          `json:"problem,omitempty"`       // why nothing is known of what serves
	Stopped    string          `json:"stopped,omitempty"`       // why it does not pass the next event
}

type spareLine struct {
	Generation int             `json:"generation"`
	Version    int             `json:"version"`
	State      string          `json:"state"` // filling, ready or kept
	Position   events.Position `json:"position"`
	Rate       float64         `json:"events_per_second"`
}

// parkedLine is a parked event as --json prints it.
type parkedLine struct {
	Kind       string          `json:"kind"` // parked
	Projection string          `json:"projection"`
	Position   events.Position `json:"position"`
	Stream     string          `json:"stream"`
	Revision   int64           `json:"revision"`
	Type       string          `json:"type"`
	Time       time.Time       `json:"time,omitzero"`
	Reason     string          `json:"reason"`
}

func (o *overview) printStates(before, now sample) error {
	measured := rates(before, now)
	lines := make([]projectionLine, len(now.states))
	for i, s := range now.states {
		rate := measured[s.Name]
		lines[i] = projectionLine{
			Kind: "projection", Name: s.Name, Version: s.Version, Makes: s.Makes, Generation: s.Generation, Position: s.Position, Head: s.Head,
			LagEvents: max(0, s.Head-s.Position), LagSeconds: s.Lag.Seconds(), Rate: rate[s.Generation], Parked: s.Parked,
			Leader: s.Leader, Silent: s.Silent, Problem: s.Problem, Stopped: s.Stopped,
		}
		for _, spare := range s.Spares {
			lines[i].Spares = append(lines[i].Spares, spareLine{spare.Generation, spare.Version, spare.State, spare.Position, rate[spare.Generation]})
		}
	}
	if o.json {
		return printLines(o.out, lines)
	}
	table, shared := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0), o.folders.database != nil
	leader := ""
	if shared {
		leader = "LEADER\t"
	}
	fmt.Fprintln(table, "PROJECTION\tVERSION\tGENERATION\tPOSITION\tHEAD\tBEHIND\tLAG\tRATE\tPARKED\t"+leader+"BESIDE")
	for _, l := range lines {
		fmt.Fprintln(table, l.row(shared))
	}
	err := table.Flush()
	for _, l := range lines {
		if l.Stopped != "" {
			fmt.Fprintf(o.out, "%s stops before %s\n", l.Name, l.Stopped)
		}
	}
	return err
}

// row is a read model as a line of the table, with its leader where nodes share
// read models.
func (l projectionLine) row(shared bool) string {
	leader := ""
	if shared {
		leader = orDash(l.Leader)
		if l.Silent {
			leader += " (silent)"
		}
		leader += "\t"
	}
	if l.Generation == 0 || l.Problem != "" {
		why := l.Problem
		if why == "" {
			why = "none serves yet"
		}
		return fmt.Sprintf("%s\t%d\t%d\t-\t%d\t-\t-\t-\t-\t%s%s", l.Name, l.Makes, l.Generation, l.Head, leader, strings.Join(append(l.beside(), why), "; "))
	}
	version := fmt.Sprint(l.Version)
	if l.Version != l.Makes {
		version = fmt.Sprintf("%d, not %d", l.Version, l.Makes)
	}
	lag := time.Duration(l.LagSeconds * float64(time.Second)).Round(time.Millisecond)
	return fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%d\t%s\t%.0f/s\t%d\t%s%s",
		l.Name, version, l.Generation, l.Position, l.Head, l.LagEvents, lag, l.Rate, l.Parked, leader, orDash(strings.Join(l.beside(), "; ")))
}

// beside tells of the generations beside the one that serves.
func (l projectionLine) beside() (all []string) {
	for _, s := range l.Spares {
		text := fmt.Sprintf("%d %s", s.Generation, s.State)
		if s.Version != l.Makes {
			text += fmt.Sprintf(", of version %d", s.Version)
		}
		if s.State == "filling" {
			text += fmt.Sprintf(" at %d of %d, %.0f/s", s.Position, l.Head, s.Rate)
		}
		all = append(all, text)
	}
	return all
}

// parkedShown is how many parked events of a read model are listed for people;
// as many are read at a time for programs.
const parkedShown = 100

// showParked prints the parked events of read models, and returns how many
// there are.
func (o *overview) showParked(ctx context.Context, states []projections.State) (total int, err error) {
	for _, s := range states {
		if s.Parked == 0 {
			continue
		}
		n, err := o.showParkedOf(ctx, s.Name)
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

func (o *overview) showParkedOf(ctx context.Context, name string) (total int, err error) {
	for after := events.Position(0); ; {
		var page []projections.ParkedEvent
		left := 0
		err := o.askModels(ctx, func(ctx context.Context) (err error) {
			page, left, err = o.options.Parked(ctx, name, o.stream, after, parkedShown)
			return err
		})
		if err != nil || len(page) == 0 {
			return total, err
		}
		if !o.json {
			return len(page) + left, o.printParked(name, page, left)
		}
		lines := make([]parkedLine, len(page))
		for i, e := range page {
			lines[i] = parkedLine{"parked", name, e.Position, e.Stream, e.Revision, e.Type, e.Time, e.Reason}
		}
		if err := printLines(o.out, lines); err != nil {
			return total, err
		}
		total, after = total+len(page), page[len(page)-1].Position
	}
}

func (o *overview) printParked(name string, page []projections.ParkedEvent, left int) error {
	out := bufio.NewWriter(o.out)
	fmt.Fprintf(out, "\n%s, %d parked:\n", name, len(page)+left)
	for _, e := range page {
		at := "-"
		if !e.Time.IsZero() {
			at = e.Time.Format("2006-01-02T15:04:05.000Z")
		}
		fmt.Fprintf(out, "  %d %s %s@%d %s: %s\n", e.Position, at, e.Stream, e.Revision, orDash(e.Type), e.Reason)
	}
	if left > 0 {
		fmt.Fprintf(out, "  and %d more\n", left)
	}
	return out.Flush()
}

// printLines prints a JSON object a line.
func printLines[T any](to io.Writer, lines []T) error {
	out := bufio.NewWriter(to)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, l := range lines {
		if err := encoder.Encode(l); err != nil {
			return err
		}
	}
	return out.Flush()
}
