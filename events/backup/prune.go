package backup

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"annals/events/fault"
)

// maxNames is the maximum number of names of needed originals in memory. Tests set a
// lower number.
var maxNames = 500_000

// prune removes the originals that the copied part of the log does not need. It
// processes one range of names after the other, each with at most maxNames needed
// originals. If an event cannot be decoded, it removes nothing, because the event may
// name any original.
func (t *run) prune(ctx context.Context) (removed int, err error) {
	for after := ""; ; {
		needed, err := t.needed(ctx, after)
		if err != nil {
			return removed, err
		}
		n, err := t.removeAllBut(ctx, needed)
		if removed += n; err != nil || needed.last == "" {
			return removed, err
		}
		after = needed.last
	}
}

// needed returns the next range of names, which begins after the name after.
func (t *run) needed(ctx context.Context, after string) (*span, error) {
	needed := &span{after: after, names: make(map[[32]byte]struct{})}
	names := newNames(t.Log)
	for records, err := range t.manifest.records(ctx, t.Location) {
		if err != nil {
			return nil, err
		}
		t.Progress("pruning", int64(records[0].Position), int64(t.manifest.Head))
		err := names.in(ctx, records, t.manifest.Head, func(n Named) error {
			needed.add(n.SHA256)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if names.unread > 0 {
		return nil, fault.Errorf(fault.Internal, "%d events cannot be read and may name any original: nothing was pruned", names.unread)
	}
	return needed, nil
}

// removeAllBut removes the unneeded originals of a range. It first writes a manifest
// that no longer counts them. Otherwise the next backup after an interrupted removal
// would report the removed originals as missing.
func (t *run) removeAllBut(ctx context.Context, needed *span) (removed int, err error) {
	unneeded := func(each func(sha256 string, size int64) error) error {
		return t.store.List(ctx, func(sha256 string, size int64, _ time.Time) error {
			if !needed.covers(sha256) || needed.contains(sha256) {
				return nil
			}
			return each(sha256, size)
		})
	}
	before := t.manifest.Originals
	err = unneeded(func(_ string, size int64) error {
		t.manifest.Originals.Files--
		t.manifest.Originals.Bytes -= size
		return nil
	})
	if err != nil || t.manifest.Originals == before {
		return 0, err
	}
	if err := t.manifest.write(ctx, t.Location, manifestFile); err != nil {
		return 0, err
	}
	anyAge := time.Now().AddDate(100, 0, 0)
	err = unneeded(func(sha256 string, _ int64) error {
		deleted, err := t.store.Delete(ctx, sha256, anyAge)
		if deleted {
			removed++
		}
		return err
	})
	return removed, err
}

// span is a range of names: from after (exclusive) to last (inclusive), or to the end if
// last is empty. names are the needed originals in the range, at most maxNames.
type span struct {
	after, last string
	names       map[[32]byte]struct{}
}

func (s *span) covers(sha256 string) bool {
	return sha256 > s.after && (s.last == "" || sha256 <= s.last)
}

func (s *span) contains(sha256 string) bool {
	_, needed := s.names[decodeName(sha256)]
	return needed
}

func (s *span) add(sha256 string) {
	if !s.covers(sha256) {
		return
	}
	s.names[decodeName(sha256)] = struct{}{}
	if len(s.names) <= maxNames {
		return
	}
	sorted := slices.SortedFunc(maps.Keys(s.names), func(a, b [32]byte) int { return slices.Compare(a[:], b[:]) })
	half := len(sorted) / 2
	for _, name := range sorted[half:] {
		delete(s.names, name)
	}
	s.last = hex.EncodeToString(sorted[half-1][:])
}

// decodeName decodes a name from hex, up to the first invalid digit.
func decodeName(sha256 string) (name [32]byte) {
	_, _ = hex.Decode(name[:], []byte(sha256[:min(len(sha256), 64)]))
	return name
}
