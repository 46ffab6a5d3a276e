package projections

import (
	"context"
	"fmt"
	"time"

	"annals/events"
	"annals/projections/cluster"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
)

// State is the state of a read model. It is read from the stores, so another process may
// be serving the read model.
type State struct {
	Name       string
	Makes      int             // the version that this program builds
	Version    int             // of the active generation
	Generation int             // number of the active generation; 0 if there is none yet
	Position   events.Position // of its tables and index together
	Head       events.Position // of the log
	Lag        time.Duration   // age of the first event that was not applied
	Parked     int             // number of parked events
	Inactive   []Inactive
	Problem    string // why the active generation cannot be read
	Leader     string // the name of the leader; "" if there is none or the read model is not shared
	Silent     bool   // the leader's announcement has expired
	Stopped    string // why the next event cannot be applied
}

// Inactive is a generation that is not active.
type Inactive struct {
	Generation, Version int
	State               string // filling, ready, held or kept
	Position            events.Position
}

// StateOf returns the state of a read model. head is the last position of the log.
func StateOf(ctx context.Context, o generation.Options, name string, head events.Position) (s State, err error) {
	p, err := readmodel.Named(name)
	if err != nil {
		return s, err
	}
	s.Name, s.Makes, s.Head = name, p.Version(), head
	if s.Version, s.Generation, err = o.ControlOf(name).Active(ctx, name); err != nil {
		return s, err
	}
	if s.Generation > 0 {
		if s.Position, s.Parked, err = o.PositionOf(ctx, p, s.Generation); err != nil {
			s.Problem = err.Error() // the generation may be corrupt, or being deleted
		}
		if d := cluster.NotifierOf(o.HomeOf(p)); d != nil && o.ControlOf(name).Shared() {
			if s.Leader, s.Silent, err = d.Leader(ctx, name, s.Generation); err != nil {
				return s, err
			}
		}
	}
	inactive, err := o.ControlOf(name).Inactive(ctx, name)
	for _, g := range inactive {
		if g.State == control.Gone {
			continue
		}
		at, _, _ := o.PositionOf(ctx, p, g.Number) // fails if there are no tables yet
		s.Inactive = append(s.Inactive, Inactive{g.Number, g.Version, g.State, at})
	}
	if err != nil || s.Generation == 0 || s.Problem != "" || s.Position >= s.Head {
		return s, err
	}
	if s.Lag, err = Age(ctx, o.Log, s.Position); err == nil {
		s.Stopped, err = stopReason(ctx, o, p, s.Position)
	}
	return s, err
}

// stopReason returns why the next event cannot be read if it is an event of the folder
// tree, and "" otherwise.
func stopReason(ctx context.Context, o generation.Options, p readmodel.Projection, after events.Position) (string, error) {
	batch, _, err := o.Log.Read(ctx, after, 1, p.Types()...)
	if err != nil || len(batch) == 0 || batch[0].Stream != events.Folders || batch[0].Err == nil {
		return "", err
	}
	return fmt.Sprintf("position %d: %v", batch[0].Position, batch[0].Err), nil
}

// Age returns how long ago the first event after a position was appended. It returns 0 if
// there is no such event, or if its time cannot be read.
func Age(ctx context.Context, log *events.Log, after events.Position) (time.Duration, error) {
	for {
		batch, through, err := log.Read(ctx, after, 1)
		switch {
		case err != nil:
			return 0, err
		case len(batch) > 0 && batch[0].Metadata.Time.IsZero():
			return 0, nil
		case len(batch) > 0:
			return max(0, time.Since(batch[0].Metadata.Time)), nil // the event may come from a machine whose clock is ahead
		case through <= after:
			return 0, nil
		}
		after = through // there may be no events in a range of positions
	}
}
