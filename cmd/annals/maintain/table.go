package maintain

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"annals/events"
	"annals/projections"
	"annals/projections/generation"
)

// projectionLine is a read model as --json prints it.
type projectionLine struct {
	Kind       string          `json:"kind"` // always "projection"
	Name       string          `json:"name"`
	Version    int             `json:"version"`         // of the active generation
	Makes      int             `json:"program_version"` // version of the generations that this program builds
	Generation int             `json:"generation"`      // number of the active generation; 0 if there is none yet
	Position   events.Position `json:"position"`
	Head       events.Position `json:"head"`
	LagEvents  events.Position `json:"lag_events"`
	LagSeconds float64         `json:"lag_seconds"`
	Rate       float64         `json:"events_per_second"`
	Parked     int             `json:"parked"`
	Others     []otherLine     `json:"spares,omitempty"`
	Leader     string          `json:"leader,omitempty"`        // node that applies the events, if several nodes share the read model
	Silent     bool            `json:"leader_silent,omitempty"` // true if the leader does not respond and may be replaced
	Problem    string          `json:"problem,omitempty"`       // reason if the active generation cannot be read
	Stopped    string          `json:"stopped,omitempty"`       // reason if the next event cannot be applied
}

type otherLine struct {
	Generation int             `json:"generation"`
	Version    int             `json:"version"`
	State      string          `json:"state"` // filling, ready, held or kept
	Position   events.Position `json:"position"`
	Rate       float64         `json:"events_per_second"`
}

// parkedLine is a parked event as --json prints it.
type parkedLine struct {
	Kind       string          `json:"kind"` // always "parked"
	Projection string          `json:"projection"`
	Position   events.Position `json:"position"`
	Stream     string          `json:"stream"`
	Revision   int64           `json:"revision"`
	Type       string          `json:"type"`
	Time       time.Time       `json:"time,omitzero"`
	Reason     string          `json:"reason"`
}

func (o *Overview) printStates(before, now sample) error {
	measured := rates(before, now)
	lines := make([]projectionLine, len(now.states))
	for i, s := range now.states {
		rate := measured[s.Name]
		lines[i] = projectionLine{
			Kind: "projection", Name: s.Name, Version: s.Version, Makes: s.Makes, Generation: s.Generation, Position: s.Position, Head: s.Head,
			LagEvents: max(0, s.Head-s.Position), LagSeconds: s.Lag.Seconds(), Rate: rate[s.Generation], Parked: s.Parked,
			Leader: s.Leader, Silent: s.Silent, Problem: s.Problem, Stopped: s.Stopped,
		}
		for _, other := range s.Inactive {
			lines[i].Others = append(lines[i].Others, otherLine{other.Generation, other.Version, other.State, other.Position, rate[other.Generation]})
		}
	}
	if o.JSON {
		return printLines(o.Out, lines)
	}
	table, shared := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0), o.Models.Database() != nil
	leader := ""
	if shared {
		leader = "LEADER\t"
	}
	fmt.Fprintln(table, "PROJECTION\tVERSION\tGENERATION\tPOSITION\tHEAD\tBEHIND\tLAG\tRATE\tPARKED\t"+leader+"OTHER GENERATIONS")
	for _, l := range lines {
		fmt.Fprintln(table, l.row(shared))
	}
	err := table.Flush()
	for _, l := range lines {
		if l.Stopped != "" {
			fmt.Fprintf(o.Out, "%s stops before %s\n", l.Name, l.Stopped)
		}
	}
	return err
}

// row returns the table row of a read model. shared adds a column for the leader, for
// read models that several nodes share.
func (l projectionLine) row(shared bool) string {
	leader := ""
	if shared {
		leader = cmp.Or(l.Leader, "-")
		if l.Silent {
			leader += " (silent)"
		}
		leader += "\t"
	}
	if l.Generation == 0 || l.Problem != "" {
		why := cmp.Or(l.Problem, "none is active yet")
		return fmt.Sprintf("%s\t%d\t%d\t-\t%d\t-\t-\t-\t-\t%s%s", l.Name, l.Makes, l.Generation, l.Head, leader, strings.Join(append(l.others(), why), "; "))
	}
	version := fmt.Sprint(l.Version)
	if l.Version != l.Makes {
		version = fmt.Sprintf("%d, not %d", l.Version, l.Makes)
	}
	lag := time.Duration(l.LagSeconds * float64(time.Second)).Round(time.Millisecond)
	return fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%d\t%s\t%.0f/s\t%d\t%s%s",
		l.Name, version, l.Generation, l.Position, l.Head, l.LagEvents, lag, l.Rate, l.Parked, leader, cmp.Or(strings.Join(l.others(), "; "), "-"))
}

// others describes the generations that are not active.
func (l projectionLine) others() (all []string) {
	for _, s := range l.Others {
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

// parkedShown is the maximum number of parked events in the table for each read model.
// JSON output lists all parked events, and queries this number at a time.
const parkedShown = 100

// showParked prints the parked events of read models and returns their number.
func (o *Overview) showParked(ctx context.Context, states []projections.State) (total int, err error) {
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

func (o *Overview) showParkedOf(ctx context.Context, name string) (total int, err error) {
	for after := events.Position(0); ; {
		var page []generation.ParkedEvent
		left := 0
		err := o.ReadModels(ctx, func(ctx context.Context) (err error) {
			page, left, err = o.Options.Parked(ctx, name, o.Stream, after, parkedShown)
			return err
		})
		if err != nil || len(page) == 0 {
			return total, err
		}
		if !o.JSON {
			return len(page) + left, o.printParked(name, page, left)
		}
		lines := make([]parkedLine, len(page))
		for i, e := range page {
			lines[i] = parkedLine{"parked", name, e.Position, e.Stream, e.Revision, e.Type, e.Time, e.Reason}
		}
		if err := printLines(o.Out, lines); err != nil {
			return total, err
		}
		total, after = total+len(page), page[len(page)-1].Position
	}
}

func (o *Overview) printParked(name string, page []generation.ParkedEvent, left int) error {
	out := bufio.NewWriter(o.Out)
	fmt.Fprintf(out, "\n%s, %d parked:\n", name, len(page)+left)
	for _, e := range page {
		at := "-"
		if !e.Time.IsZero() {
			at = e.Time.Format("2006-01-02T15:04:05.000Z")
		}
		fmt.Fprintf(out, "  %d %s %s@%d %s: %s\n", e.Position, at, e.Stream, e.Revision, cmp.Or(e.Type, "-"), e.Reason)
	}
	if left > 0 {
		fmt.Fprintf(out, "  and %d more\n", left)
	}
	return out.Flush()
}

// printLines prints one JSON object per line.
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
