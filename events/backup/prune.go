package backup

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"annals/events/fault"
)

// maxNames bounds the names of needed originals in memory. Tests set it lower.
var maxNames = 500_000

// prune removes the originals that the copied part of the log does not need. It works
// in spans of names with at most maxNames needed ones. If an event cannot be read it
// removes nothing, because the event may name any original.
func (t *taking) prune(ctx context.Context) (removed int, err error) {
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

// needed returns the next span: the names of needed originals after a name.
func (t *taking) needed(ctx context.Context, after string) (*span, error) {
	needed := &span{after: after, names: make(map[[32]byte]struct{})}
	names := newNames(t.Log)
	for records, err := range t.now.records(ctx, t.Place) {
		if err != nil {
			return nil, err
		}
		t.Progress("pruning", int64(records[0].Position), int64(t.now.Head))
		err := names.in(ctx, records, t.now.Head, func(n Named) error {
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

// removeAllBut removes the originals of a span that are not needed. Before that it
// writes a manifest that no longer counts them, so that the next backup does not miss
// them if the removal is interrupted.
func (t *taking) removeAllBut(ctx context.Context, needed *span) (removed int, err error) {
	unneeded := func(each func(sha256 string, size int64) error) error {
		return t.kept.List(ctx, func(sha256 string, size int64, _ time.Time) error {
			if !needed.covers(sha256) || needed.holds(sha256) {
				return nil
			}
			return each(sha256, size)
		})
	}
	before := t.now.Originals
	err = unneeded(func(_ string, size int64) error {
		t.now.Originals.Files--
		t.now.Originals.Bytes -= size
		return nil
	})
	if err != nil || t.now.Originals == before {
		return 0, err
	}
	if err := t.now.write(ctx, t.Place, manifestFile); err != nil {
		return 0, err
	}
	always := time.Now().AddDate(100, 0, 0) // whatever its date
	err = unneeded(func(sha256 string, _ int64) error {
		gone, err := t.kept.Delete(ctx, sha256, always)
		if gone {
			removed++
		}
		return err
	})
	return removed, err
}

// span is a range of names of originals: after one name up to last, or to the end if
// last is empty. It holds at most maxNames needed ones.
type span struct {
	after, last string
	names       map[[32]byte]struct{}
}

func (s *span) covers(sha256 string) bool {
	return sha256 > s.after && (s.last == "" || sha256 <= s.last)
}

func (s *span) holds(sha256 string) bool {
	_, held := s.names[digits(sha256)]
	return held
}

func (s *span) add(sha256 string) {
	if !s.covers(sha256) {
		return
	}
	s.names[digits(sha256)] = struct{}{}
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

// digits decodes a name from hex; of an invalid name it returns the bytes before the
// first error.
func digits(sha256 string) (name [32]byte) {
	_, _ = hex.Decode(name[:], []byte(sha256[:min(len(sha256), 64)]))
	return name
}
