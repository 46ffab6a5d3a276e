package http

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	"annals/commands"
	"annals/events/fault"
	"annals/events/originals"
)

// idempotencyHeader names a request, so that a client may repeat it.
const idempotencyHeader = "Idempotency-Key"

// idempotencyKey returns the key of a request, "" if it has none or a faulty
// one.
func idempotencyKey(r *http.Request, found *faults) string {
	given := r.Header.Values(idempotencyHeader)
	if len(given) == 0 {
		return ""
	}
	ok := len(given) == 1 && given[0] != "" && len(given[0]) <= commands.MaxKey
	for i := 0; ok && i < len(given[0]); i++ {
		ok = given[0][i] >= ' ' && given[0][i] <= '~'
	}
	if !ok {
		found.refuseKey(fmt.Sprintf("the key must be given once, and have 1 to %d printable ASCII characters", commands.MaxKey))
		return ""
	}
	return given[0]
}

func (f *faults) refuseKey(why string) {
	*f = append(*f, valueError([]any{"header", idempotencyHeader}, why, nil))
}

// recognise looks whether an earlier request with the key of this one was
// accepted. Then nothing of this one is stored or charged: it is read to tell
// whether it is the same.
func (u *upload) recognise() (err error) {
	if u.Key = idempotencyKey(u.Request, &u.inQuery); u.Key == "" {
		return nil
	}
	if u.before, err = u.Commands.KeyedImport(u.Context(), u.user, u.Key); u.before != nil {
		u.Store = digests{u.Store}
	}
	return err
}

// compare refuses a repeated request as soon as a file is another.
func (u *upload) compare(file int) {
	if u.before == nil {
		return
	}
	if err := u.before.SameFile(file, u.Files[file]); err != nil {
		u.inQuery.refuseKey(err.Error())
	}
}

// start makes the upload count, or returns the job of an earlier request with
// the same key.
func (u *upload) start() (commands.Started, error) {
	started, err := u.startOrMeet()
	if errors.Is(err, commands.ErrOtherUpload) {
		u.inQuery.refuseKey(err.Error())
		err = u.inQuery.err()
	}
	return started, err
}

func (u *upload) startOrMeet() (commands.Started, error) {
	if u.before == nil {
		started, err := u.Accept(u.Context(), u.Commands, u.user)
		if u.Key == "" || err == nil {
			return started, err
		}
		// Another request with the same key may have come first, and have used
		// up what this one was refused for.
		before, err2 := u.Commands.KeyedImport(context.WithoutCancel(u.Context()), u.user, u.Key)
		if before == nil || err2 != nil {
			return started, err
		}
		u.before = before
	}
	return u.before.Started, u.before.Same(u.Files)
}

// digests is a store that keeps nothing of what it is given but the digest.
type digests struct{ originals.Store }

func (digests) Stage(ctx context.Context, r io.Reader, limit int64) (originals.Staged, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read a file again: %w", err)
	case n > limit:
		return nil, fault.Errorf(fault.TooLarge, "the file is larger than %d bytes", limit)
	}
	return digest{hex.EncodeToString(hash.Sum(nil)), n}, ctx.Err()
}

type digest struct {
	sha256 string
	size   int64
}

func (d digest) SHA256() string { return d.sha256 }
func (d digest) Size() int64    { return d.size }

func (digest) Commit(context.Context) error {
	return fault.Errorf(fault.Internal, "nothing was kept of a repeated upload")
}

func (digest) Discard() error { return nil }
