package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"annals/events/fault"
	"annals/events/originals"
)

// Limits of a batch of originals, which are committed together to save syncs.
const (
	batchFiles = 64
	batchBytes = 64 << 20
)

// copier copies originals from one store to another, and verifies the copies.
type copier struct {
	from, to originals.Store
	// unverified means that the target may contain unverified or corrupt originals, so
	// each one is read back before it is taken as copied.
	unverified bool
	staged     []originals.Staged
	bytes      int64 // size of the staged originals
	copied     Count
}

// lostError means that an original is missing from the source store, or corrupt there.
type lostError struct{ err error }

func (l *lostError) Error() string { return l.err.Error() }
func (l *lostError) Unwrap() error { return l.err }

// copy copies an original unless the target already has it. The copy is durable after
// flush.
func (c *copier) copy(ctx context.Context, n Named) error {
	if slices.ContainsFunc(c.staged, func(s originals.Staged) bool { return s.SHA256() == n.SHA256 }) {
		return nil
	}
	switch err := c.has(ctx, n); {
	case err == nil:
		return nil
	case c.unverified && fault.Is(err, fault.Internal): // the copy is corrupt; copying the original again repairs it
	case fault.Is(err, fault.Invalid): // the name is not a SHA-256
		return &lostError{err}
	case !fault.Is(err, fault.NotFound):
		return err
	}
	s, err := c.stage(ctx, n)
	if err != nil {
		return err
	}
	c.staged = append(c.staged, s)
	c.bytes += s.Size()
	if len(c.staged) < batchFiles && c.bytes < batchBytes {
		return nil
	}
	return c.flush(ctx)
}

// has returns nil if the original need not be copied, because the target has it.
func (c *copier) has(ctx context.Context, n Named) error {
	if c.unverified {
		return originals.Verify(ctx, c.to, n.SHA256, n.Size, true)
	}
	return has(ctx, c.to, n.SHA256)
}

func (c *copier) stage(ctx context.Context, n Named) (originals.Staged, error) {
	original, err := c.from.Open(ctx, n.SHA256)
	if fault.Is(err, fault.NotFound) {
		return nil, &lostError{err}
	}
	if err != nil {
		return nil, err
	}
	defer original.Close()
	s, err := c.to.Stage(ctx, original, n.Size)
	if fault.Is(err, fault.TooLarge) {
		return nil, &lostError{fmt.Errorf("the original %s is corrupt: it has more than %d bytes", n.SHA256, n.Size)}
	}
	if err != nil {
		return nil, fmt.Errorf("copy the original %s: %w", n.SHA256, err)
	}
	if s.SHA256() != n.SHA256 || s.Size() != n.Size {
		err := &lostError{fmt.Errorf("the original %s is corrupt: it has %d bytes with the SHA-256 %s", n.SHA256, s.Size(), s.SHA256())}
		return nil, errors.Join(err, s.Discard())
	}
	return s, nil
}

// flush commits the staged originals and verifies them.
func (c *copier) flush(ctx context.Context) error {
	if err := originals.CommitAll(ctx, c.staged); err != nil {
		return err
	}
	for _, s := range c.staged {
		if err := originals.Verify(ctx, c.to, s.SHA256(), s.Size(), true); err != nil {
			return fmt.Errorf("verify the copied original: %w", err)
		}
		c.copied.Files++
		c.copied.Bytes += s.Size()
	}
	c.staged, c.bytes = c.staged[:0], 0
	return nil
}

// discard discards the staged originals.
func (c *copier) discard() error {
	var errs []error
	for _, s := range c.staged {
		errs = append(errs, s.Discard())
	}
	c.staged = nil
	return errors.Join(errs...)
}

// has returns nil if a store has an original.
func has(ctx context.Context, s originals.Store, sha256 string) error {
	original, err := s.Open(ctx, sha256)
	if err != nil {
		return err
	}
	return original.Close()
}

// count counts the originals of a store.
func count(ctx context.Context, s originals.Store) (c Count, err error) {
	err = s.List(ctx, func(_ string, size int64, _ time.Time) error {
		c.Files++
		c.Bytes += size
		return nil
	})
	return c, err
}
