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

// Verification has the parameters of the verification of a backup.
type Verification struct {
	Location Location
	Load     Load // loads the events into a temporary log
	// Progress is called with the progress of each step.
	Progress func(step string, done, total int64)
	// Report is called with each problem, as a sentence.
	Report func(problem string)
}

// Run reads a whole backup and compares it with the digests in its manifest: segments,
// accounts, and the originals that the events name. It returns the manifest and the
// number of problems. It does not change the backup.
func (v *Verification) Run(ctx context.Context) (m *Manifest, problems int, err error) {
	release, err := v.Location.RLock(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if m, err = LoadManifest(ctx, v.Location); err != nil {
		return nil, 0, err
	}
	report := func(err error) error {
		if ctx.Err() != nil || !ofBackup(err) {
			return err
		}
		problems++
		v.Report(fault.Detail(err))
		return nil
	}
	if m.Accounts != nil {
		if err := report(m.Accounts.copyTo(ctx, v.Location, io.Discard)); err != nil {
			return m, problems, err
		}
	}
	var before Digest
	for _, s := range m.Segments {
		v.Progress("segments", int64(s.Through), int64(m.Head))
		err := s.read(ctx, v.Location, before, func([]events.Record) error { return nil })
		if err := report(err); err != nil {
			return m, problems, err
		}
		before = s.Digest
	}
	if problems > 0 {
		v.Report("the originals were not verified, because the events that name them cannot be read")
		return m, problems, nil
	}
	store := v.Location.View()
	err = m.load(ctx, v.Location, v.Load, v.Progress, func(n Named) error {
		return report(originals.Verify(ctx, store, n.SHA256, n.Size, true))
	})
	return m, problems, report(err)
}

// ofBackup reports whether an error is caused by the backup, such as a read error of its
// disk, and not by this process, such as too many open files or missing permissions.
func ofBackup(err error) bool {
	var local *fs.PathError
	if errors.As(err, &local) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EIO) {
		return false
	}
	return fault.Is(err, fault.Internal) || fault.Is(err, fault.NotFound)
}
