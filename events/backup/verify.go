package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"

	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
)

// Verification is what Run looks at.
type Verification struct {
	Place Place
	Load  Load // into a log that is thrown away
	// Progress is told how far each step is.
	Progress func(step string, done, total int64)
	// Tell is told each problem, as a sentence.
	Tell func(problem string)
}

// Run reads all of a backup and compares it with what was written: segments,
// originals and accounts; it changes nothing. Which originals have to be there
// it learns from the events. It returns how many problems there are.
func (v *Verification) Run(ctx context.Context) (m *Manifest, problems int, err error) {
	release, err := v.Place.Share(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if m, err = Look(ctx, v.Place); err != nil {
		return nil, 0, err
	}
	judge := func(err error) error {
		if ctx.Err() != nil || !ofBackup(err) {
			return err
		}
		problems++
		v.Tell(fault.Detail(err))
		return nil
	}
	if m.Accounts != nil {
		if err := judge(m.Accounts.copyTo(ctx, v.Place, io.Discard)); err != nil {
			return m, problems, err
		}
	}
	var before Digest
	for _, s := range m.Segments {
		v.Progress("segments", int64(s.Through), int64(m.Head))
		err := s.read(ctx, v.Place, before, func([]events.Record) error { return nil })
		if err := judge(err); err != nil {
			return m, problems, err
		}
		before = s.Digest
	}
	if problems > 0 {
		v.Tell("the originals were not looked at: the events tell which there must be")
		return m, problems, nil
	}
	store := v.Place.View()
	err = m.fold(ctx, v.Place, v.Load, v.Progress, func(n Named) error {
		return judge(originals.Verify(ctx, store, n.SHA256, n.Size, true))
	})
	return m, problems, judge(err)
}

// ofBackup tells what is wrong with a backup from what keeps this machine from
// reading it: too many open files, or rights that are missing. Bytes that a
// disk has lost are the backup's.
func ofBackup(err error) bool {
	var local *fs.PathError
	if errors.As(err, &local) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EIO) {
		return false
	}
	return fault.Is(err, fault.Internal) || fault.Is(err, fault.NotFound)
}
