package originals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"annals/events/fault"
)

// Verify returns an error unless the store has the original with this SHA-256 and size.
// If hashing is true, it also reads the bytes and checks their SHA-256.
func Verify(ctx context.Context, s Store, name string, size int64, hashing bool) error {
	original, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	defer original.Close()
	if original.Size() != size {
		return fault.Errorf(fault.Internal, "the original %s is corrupt: it has %d bytes instead of %d", name, original.Size(), size)
	}
	if !hashing {
		return nil
	}
	hash := sha256.New()
	if _, err := copyBounded(ctx, hash, original, size); err != nil {
		return fmt.Errorf("read the original %s: %w", name, err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != name {
		return fault.Errorf(fault.Internal, "the original %s is corrupt: its bytes have the SHA-256 %s", name, got)
	}
	return nil
}
