package ingest

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
	"annals/http/problem"
)

// idempotencyHeader is the header with a key that a client chooses for an upload. If the
// client repeats the upload with the same key, the reply is the first job.
const idempotencyHeader = "Idempotency-Key"

// idempotencyKey returns the idempotency key of a request. It returns "" if the request has
// none or an invalid one; it adds an error for an invalid one.
func idempotencyKey(r *http.Request, found *problem.Fields) string {
	given := r.Header.Values(idempotencyHeader)
	if len(given) == 0 {
		return ""
	}
	ok := len(given) == 1 && given[0] != "" && len(given[0]) <= commands.MaxKey
	for i := 0; ok && i < len(given[0]); i++ {
		ok = given[0][i] >= ' ' && given[0][i] <= '~'
	}
	if !ok {
		refuseKey(found, fmt.Sprintf("the header must be sent once, with a key of 1 to %d printable ASCII characters", commands.MaxKey))
		return ""
	}
	return given[0]
}

func refuseKey(f *problem.Fields, why string) {
	*f = append(*f, problem.ValueError([]any{"header", idempotencyHeader}, why, nil))
}

// recognise looks up the job of an earlier request with the same key. If there is one, the
// files of this request are compared with those of the job, but neither stored nor counted
// against a quota.
func (u *Upload) recognise() (err error) {
	if u.Key = idempotencyKey(u.Request, &u.Query); u.Key == "" {
		return nil
	}
	if u.before, err = u.Commands.KeyedImport(u.Context(), u.User, u.Key); u.before != nil {
		u.Store = digests{u.Store}
	}
	return err
}

// compare adds an error if a file differs from the file at the same index in the earlier
// request with the same key.
func (u *Upload) compare(file int) {
	if u.before == nil {
		return
	}
	if err := u.before.SameFile(file, u.Files[file]); err != nil {
		refuseKey(&u.Query, err.Error())
	}
}

// start accepts the upload as a job, or returns the job of an earlier request with the same
// key.
func (u *Upload) start() (commands.Started, error) {
	started, err := u.startOrFind()
	if errors.Is(err, commands.ErrOtherUpload) {
		refuseKey(&u.Query, err.Error())
		err = u.Query.Err()
	}
	return started, err
}

func (u *Upload) startOrFind() (commands.Started, error) {
	if u.before == nil {
		started, err := u.Accept(u.Context(), u.Commands, u.User)
		if u.Key == "" || err == nil {
			return started, err
		}
		// A concurrent request with the same key may have been accepted in the meantime and
		// have used up the quota.
		before, err2 := u.Commands.KeyedImport(context.WithoutCancel(u.Context()), u.User, u.Key)
		if before == nil || err2 != nil {
			return started, err
		}
		u.before = before
	}
	return u.before.Started, u.before.Same(u.Files)
}

// digests is a store that computes the digests of files but does not keep them.
type digests struct{ originals.Store }

func (digests) Stage(ctx context.Context, r io.Reader, limit int64) (originals.Staged, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read a file of a repeated upload: %w", err)
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
	return fault.Errorf(fault.Internal, "commit a file of a repeated upload: it was not stored")
}

func (digest) Discard() error { return nil }
