package originals

import (
	"context"
	"time"
)

// Sweep deletes the originals that were last committed before a time and that
// nothing refers to: uploads whose request ended before a job accepted them,
// and those of documents that were deleted. It returns how many it deleted.
func Sweep(ctx context.Context, s Store, before time.Time, referred func(ctx context.Context, sha256 string) (bool, error)) (deleted int, err error) {
	err = s.List(ctx, func(sha256 string, _ int64, modified time.Time) error {
		if !modified.Before(before) {
			return nil
		}
		if used, err := referred(ctx, sha256); used || err != nil {
			return err
		}
		// The same bytes may have been uploaded again since they were listed.
		gone, err := s.Delete(ctx, sha256, before)
		if gone {
			deleted++
		}
		return err
	})
	return deleted, err
}
