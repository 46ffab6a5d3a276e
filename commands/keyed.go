package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"annals/commands/aggregate"
	"annals/commands/naming"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// MaxKey is the maximum length of an idempotency key, in characters. A client sends the key
// with an import request, and sends the same key if it repeats the request.
const MaxKey = 255

// keys is the UUID namespace of the ids of jobs that were requested with a key.
var keys = uuid.MustParse("6c1f5c0e-6d0b-4c36-9a55-0f3f1f6f7d52")

// keyedJob returns the id of the job that a user requests with a key. The id is a hash of
// user and key, so a repeated request finds the job of the original request.
func keyedJob(user events.Principal, key string) uuid.UUID {
	return uuid.NewSHA1(keys, []byte(string(user)+"\x00"+key))
}

// ErrOtherUpload is returned, wrapped in an error of kind fault.Invalid, if a key was used
// before for an upload of other files.
var ErrOtherUpload = errors.New("the key was used for another upload")

// KeyedImport is an import that was requested with an idempotency key.
type KeyedImport struct {
	Started
	files  []events.FileAccepted // accepted files that are in the log
	exists bool                  // whether all files of the request are in the log
}

// Same returns ErrOtherUpload unless the uploads are the files of the job. If a file was
// refused in the original or in the repeated request, Same compares only its name and
// folder, because its bytes may not have been read.
func (k *KeyedImport) Same(uploads []Upload) error {
	if len(uploads) != len(k.files) {
		return otherUpload("that upload had %s, and this one has %d", counted(len(k.files)), len(uploads))
	}
	for i, u := range uploads {
		accepted, err := u.accept(i)
		if err != nil {
			return err
		}
		if err := sameFile(k.files[i], accepted); err != nil {
			return err
		}
	}
	return nil
}

// SameFile is like Same, but checks a single upload while its request is still being
// received. It compares only name and bytes, because the folder is not known yet.
func (k *KeyedImport) SameFile(index int, u Upload) error {
	if index >= len(k.files) {
		return otherUpload("that upload had %s, and this one has more", counted(len(k.files)))
	}
	was := k.files[index]
	name, err := naming.Document(u.Name)
	if err != nil {
		return nil // Same reports the invalid name
	}
	if was.Name != name || was.Refused == "" && u.Refused == "" && was.SHA256 != u.SHA256 {
		return otherFile(index, was.Name)
	}
	return nil
}

func sameFile(was, is events.FileAccepted) error {
	if was.Refused != "" || is.Refused != "" {
		was = events.FileAccepted{File: was.File, Name: was.Name, Folder: was.Folder}
		is = events.FileAccepted{File: is.File, Name: is.Name, Folder: is.Folder}
	}
	// These fields record which folders and documents existed when the request was
	// accepted. They are not part of the request.
	is.Under, is.Rest, is.Existing = was.Under, was.Rest, was.Existing
	if !bytes.Equal(encoded(was), encoded(is)) {
		return otherFile(was.File, was.Name)
	}
	return nil
}

func encoded(f events.FileAccepted) []byte {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err) // cannot happen for a plain struct
	}
	return b
}

func counted(files int) string {
	if files == 1 {
		return "1 file"
	}
	return strconv.Itoa(files) + " files"
}

func otherFile(index int, name string) error {
	return otherUpload("file %d of that upload, %q, had other bytes, another folder or other tags", index+1, name)
}

func otherUpload(format string, args ...any) error {
	why := fault.Errorf(fault.Invalid, format, args...)
	return fault.Errorf(fault.Invalid, "%w: %w; send a new upload with a new key", ErrOtherUpload, why)
}

// KeyedImport returns the job that a user has requested with a key, or nil if there is none.
// It reads the log, so it also finds jobs that other processes started.
func (h *Handler) KeyedImport(ctx context.Context, user events.User, key string) (*KeyedImport, error) {
	k, err := h.readKeyed(ctx, user, key)
	if err != nil || !k.exists {
		return nil, err
	}
	return k, nil
}

// HoldRepeat counts a repeated request as an open upload of its user. It reserves no other
// quota. The caller must close the hold.
func (h *Handler) HoldRepeat(ctx context.Context, user events.User) (*quota.Hold, error) {
	return h.Quota.OpenSlot(ctx, user)
}

// errRead stops reading a job's stream after its last FileAccepted.
var errRead = errors.New("the job was read")

func (h *Handler) readKeyed(ctx context.Context, user events.User, key string) (*KeyedImport, error) {
	k := &KeyedImport{Started: Started{Job: keyedJob(user.Principal, key)}}
	err := h.Log.ReadStream(ctx, events.JobStream(k.Job), 0, func(e events.Event) error {
		k.Position = e.Position
		switch d := e.Data.(type) {
		case events.FileAccepted:
			k.files = append(k.files, d)
		case events.ImportRequested:
			k.exists = true
			return errRead
		}
		return nil
	})
	if errors.Is(err, errRead) {
		err = nil
	}
	return k, err
}

// StartKeyedImport is like StartImport, for a request with a key. If the user already
// requested a job with this key, it returns that job and charges nothing. The error is
// ErrOtherUpload if that job has other files.
func (h *Handler) StartKeyedImport(ctx context.Context, user events.User, correlation, key string, uploads []Upload) (Started, error) {
	if key == "" {
		return h.StartImport(ctx, user, correlation, uploads)
	}
	var before *KeyedImport
	started, err := h.startImport(ctx, user, correlation, uploads, func(ctx context.Context, cause events.Cause, data []events.Data) (s Started, err error) {
		s, before, err = h.startOnce(ctx, user, key, cause, data)
		return s, err
	})
	if before == nil {
		return started, err
	}
	return before.Started, before.Same(uploads)
}

// errStarted means that the job exists already.
var errStarted = errors.New("the job was started before")

// startOnce is like startJob, but handles other requests with the same key: they may start
// the job at the same time, or may have crashed after appending some of its files. If the
// job exists already, the error is errStarted, and before is that job.
func (h *Handler) startOnce(ctx context.Context, user events.User, key string, cause events.Cause, data []events.Data) (started Started, before *KeyedImport, err error) {
	started, err = aggregate.Retry(ctx, "an upload with this key", func() (Started, error) {
		k, err := h.readKeyed(ctx, user, key)
		if err != nil {
			return Started{}, err
		}
		if k.exists {
			before = k
			return Started{}, errStarted
		}
		data, err := continued(data, k.files)
		if err != nil {
			return Started{}, err
		}
		started, err := h.appendJob(ctx, k.Job, len(k.files), cause, data)
		if fault.Is(err, fault.Conflict) {
			err = aggregate.ErrRaced
		}
		return started, err
	})
	return started, before, err
}

// continued returns the events of a new job whose first files are in the log already. For
// these files it returns the events that are in the log.
func continued(data []events.Data, files []events.FileAccepted) ([]events.Data, error) {
	data = slices.Clone(data)
	for i, f := range files {
		accepted, ok := data[i].(events.FileAccepted)
		if !ok {
			return nil, otherUpload("that upload had more than %s", counted(i))
		}
		if err := sameFile(f, accepted); err != nil {
			return nil, err
		}
		data[i] = f
	}
	unended := slices.DeleteFunc(data, func(d events.Data) bool { _, ended := d.(events.JobFinished); return ended })
	return finished(unended), nil
}
