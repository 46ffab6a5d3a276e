package backup

import (
	"context"
	"time"

	"annals/events/fault"
	"annals/events/originals"
)

// prune removes the originals that nothing in the log needs up to where it was
// copied. It dates those that are needed, and then removes what is older, so
// that it holds no list of them; cut off, it has removed nothing too much. An
// event that cannot be read may name any of them: then all stay.
func (t *taking) prune(ctx context.Context) (removed int, err error) {
	at := time.Now().Truncate(2 * time.Second).Add(2 * time.Second) // beyond all that was copied; no file system rounds it
	names := newNames(t.Log)
	for records, err := range t.now.records(ctx, t.Dir) {
		if err != nil {
			return 0, err
		}
		t.Progress("pruning", int64(records[0].Position), int64(t.now.Head))
		err := names.in(ctx, records, t.now.Head, func(n Named) error {
			err := t.kept.Date(ctx, n.SHA256, at)
			if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
				return nil // it is lost
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	if names.unread > 0 {
		return 0, fault.Errorf(fault.Internal, "%d events cannot be read and may name any original: none is removed", names.unread)
	}
	// Cut off, the next backup is not to miss what is removed here.
	t.now.Originals = Count{}
	if err := t.now.write(t.path(manifestFile)); err != nil {
		return 0, err
	}
	removed, err = originals.Sweep(ctx, t.kept, at, func(context.Context, string) (bool, error) { return false, nil })
	if err != nil {
		return removed, err
	}
	return removed, t.writeManifest(ctx)
}
