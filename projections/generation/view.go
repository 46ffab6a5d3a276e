package generation

import (
	"context"
	"errors"
	"fmt"

	"annals/events"
	"annals/events/fault"
	"annals/projections/control"
	"annals/projections/readmodel"
)

// PositionOf returns the position up to which the tables and the index of a generation
// are up to date, and the number of parked events.
func (o Options) PositionOf(ctx context.Context, p readmodel.Projection, generation int) (at events.Position, parked int, err error) {
	tables, err := o.HomeOf(p).View(ctx, NameOf(p, generation))
	if err != nil {
		return 0, 0, err
	}
	query := `SELECT position, (SELECT count(*) FROM parked) FROM checkpoint`
	if i, ok := p.(interface{ Reached() string }); ok {
		query = i.Reached()
	}
	err = tables.QueryRowContext(ctx, query).Scan(&at, &parked)
	return at, parked, errors.Join(err, tables.Close())
}

// earlier calls read with the tables of all generations of a read model, except one, that
// this program can read. It passes over those that cannot be opened: they are only asked for
// what would take long to make again.
func (o Options) earlier(ctx context.Context, p readmodel.Projection, except int, read func(readmodel.Queryer) error) error {
	version, number, err := o.ControlOf(p.Name()).Active(ctx, p.Name())
	if err != nil {
		return err
	}
	all, err := o.ControlOf(p.Name()).Inactive(ctx, p.Name())
	if err != nil {
		return err
	}
	for _, g := range append(all, control.Generation{Version: version, Number: number}) {
		if g.Number == 0 || g.Number == except || g.State == control.Gone || !Readable(p, g.Version) {
			continue
		}
		tables, err := o.HomeOf(p).View(ctx, NameOf(p, g.Number))
		if err != nil {
			o.Logger.Warn("an earlier generation cannot be read", "projection", p.Name(), "generation", g.Number, "error", err)
			continue
		}
		if err := errors.Join(read(tables), tables.Close()); err != nil {
			return fmt.Errorf("read generation %d of %s: %w", g.Number, p.Name(), err)
		}
	}
	return nil
}

// Reader reads the tables of a read model.
type Reader interface {
	readmodel.Queryer
	QueryRowContext(ctx context.Context, query string, args ...any) readmodel.Row
}

// Served calls read with the active tables of a read model, while another process may
// write to them. If there are no tables that this program can read, the error is
// fault.Unavailable.
func (o Options) Served(ctx context.Context, name string, read func(Reader) error) error {
	p, err := readmodel.Named(name)
	if err != nil {
		return err
	}
	version, number, err := o.ControlOf(p.Name()).Active(ctx, p.Name())
	if err != nil {
		return err
	}
	if number == 0 || !Readable(p, version) {
		return fault.Errorf(fault.Unavailable, "read %s: this version of the program has not built it yet; start annals serve, which does", p.Name())
	}
	tables, err := o.HomeOf(p).View(ctx, NameOf(p, number))
	if err != nil {
		return fmt.Errorf("read %s: %w", p.Name(), err)
	}
	return errors.Join(read(tables), tables.Close())
}
