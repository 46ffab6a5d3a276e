package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// MaxKey is the most characters of a key that an import is requested with.
const MaxKey = 255

// keys is the namespace of the ids of jobs that were requested with a key.
var keys = uuid.MustParse("6c1f5c0e-6d0b-4c36-9a55-0f3f1f6f7d52")

// keyedJob returns the id of the job that a user requests with a key. It is
// computed, so that a repeated request meets the same stream: whoever begins
// that first makes the job.
func keyedJob(user events.Principal, key string) uuid.UUID {
	return uuid.NewSHA1(keys, []byte(string(user)+"\x00"+key))
}

// ErrOtherUpload is in the tree of the error of a request whose key was used for
// other files. Its kind is fault.Invalid.
var ErrOtherUpload = errors.New("the key was used for another upload")

// KeyedImport is an import that was requested with a key.
type KeyedImport struct {
	Started
	files []events.FileAccepted // as far as they are in the log
	made  bool                  // the job exists
}

// Same returns ErrOtherUpload unless the uploads are those that the job was
// requested with. Of a file that was refused, then or now, only the name and the
// folder are compared: its bytes may not have been read.
func (k *KeyedImport) Same(uploads []Upload) error {
	if len(uploads) != len(k.files) {
		return otherUpload("it had %s, and this one has %d", counted(len(k.files)), len(uploads))
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

// SameFile is Same for the bytes of one file, before it is known where it is to
// go.
func (k *KeyedImport) SameFile(index int, u Upload) error {
	if index >= len(k.files) {
		return otherUpload("it had %s, and this one has more", counted(len(k.files)))
	}
	was := k.files[index]
	name, err := normalizeName(u.Name)
	if err != nil {
		return nil // as Same will find
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
	// Which folders of the path exist has changed since, and whether the document
	// does; neither is the caller's.
	is.Under, is.Rest, is.Existing = was.Under, was.Rest, was.Existing
	if !bytes.Equal(encoded(was), encoded(is)) {
		return otherFile(was.File, was.Name)
	}
	return nil
}

func encoded(f events.FileAccepted) []byte {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err) // a plain struct always can be
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
	return otherUpload("its file %d was another %q, or went to another folder or under other tags", index+1, name)
}

func otherUpload(format string, args ...any) error {
	why := fault.Errorf(fault.Invalid, format, args...)
	return fault.Errorf(fault.Invalid, "%w: %w; send a new upload with a new key", ErrOtherUpload, why)
}

// KeyedImport returns the job that a user has requested with a key, nil if there
// is none. It is read from the log, so that it is the same for all processes.
func (h *Handler) KeyedImport(ctx context.Context, user events.User, key string) (*KeyedImport, error) {
	k, err := h.readKeyed(ctx, user, key)
	if err != nil || !k.made {
		return nil, err
	}
	return k, nil
}

// HoldRepeat counts a repeated request among those that its user has under way. It
// takes nothing else. The caller closes the hold.
func (h *Handler) HoldRepeat(ctx context.Context, user events.User) (*quota.Hold, error) {
	return h.Quota.Place(ctx, user)
}

// errRead ends the reading of a stream.
var errRead = errors.New("all that matters was read")

func (h *Handler) readKeyed(ctx context.Context, user events.User, key string) (*KeyedImport, error) {
	k := &KeyedImport{Started: Started{Job: keyedJob(user.Principal, key)}}
	err := h.Log.ReadStream(ctx, events.JobStream(k.Job), 0, func(e events.Event) error {
		k.Position = e.Position
		switch d := e.Data.(type) {
		case events.FileAccepted:
			k.files = append(k.files, d)
		case events.ImportRequested:
			k.made = true
			return errRead
		}
		return nil
	})
	if errors.Is(err, errRead) {
		err = nil
	}
	return k, err
}

// StartKeyedImport is StartImport for a request with a key. If the user has
// requested a job with it before, that job is returned, and nothing is charged;
// the error is ErrOtherUpload if that one had other files.
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

// errStarted says that the job exists already.
var errStarted = errors.New("the job was started before")

// startOnce is startJob for a job that other requests may be starting, too, or
// that one was starting when it was cut off. If another has made it exist, the
// error is errStarted.
func (h *Handler) startOnce(ctx context.Context, user events.User, key string, cause events.Cause, data []events.Data) (Started, *KeyedImport, error) {
	pause := firstPause
	for range maxConflicts {
		k, err := h.readKeyed(ctx, user, key)
		if err != nil {
			return Started{}, nil, err
		}
		if k.made {
			return Started{}, k, errStarted
		}
		data, err := continued(data, k.files)
		if err != nil {
			return Started{}, nil, err
		}
		started, err := h.appendJob(ctx, k.Job, len(k.files), cause, data)
		if !fault.Is(err, fault.Conflict) {
			return started, nil, err
		}
		if err := sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return Started{}, nil, err
		}
		pause = min(2*pause, longestPause)
	}
	return Started{}, nil, fault.Errorf(fault.Unavailable, "too many uploads with the same key at once: try again")
}

// continued returns the events of a new job whose first files are in the log, as
// they were accepted there.
func continued(data []events.Data, files []events.FileAccepted) ([]events.Data, error) {
	data = slices.Clone(data)
	for i, f := range files {
		accepted, ok := data[i].(events.FileAccepted)
		if !ok {
			return nil, otherUpload("it had more than %s", counted(i))
		}
		if err := sameFile(f, accepted); err != nil {
			return nil, err
		}
		data[i] = f
	}
	unended := slices.DeleteFunc(data, func(d events.Data) bool { _, ended := d.(events.JobFinished); return ended })
	return finished(unended), nil
}
