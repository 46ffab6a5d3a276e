// Package importer executes import jobs. It extracts each accepted file, then appends its
// text, files it as a document, and records the outcome in the job. Files are delivered as
// messages. An interrupted import of a file starts again from the beginning, and recognises
// the events that it appended before. The package imports commands and events.
package importer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"annals/commands"
	"annals/commands/importer/extract"
	"annals/commands/importer/turns"
	"annals/events/failpoint"
	"annals/events/fault"
	"annals/events/originals"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/google/uuid"
)

// topic of the messages.
const topic = "import.files"

// fileRef is the payload of a message: a file of a job.
type fileRef struct {
	Job  uuid.UUID `json:"job"`
	File int       `json:"file"`
}

// Importer imports the files of jobs. Set its fields before Run.
type Importer struct {
	Handler   *commands.Handler
	Originals originals.Store
	Reader    extract.Reader
	// Summarise returns a Summariser for a new document. It may be nil.
	Summarise func(title string) Summariser

	// Workers is the number of normal slots for reading files concurrently; 0 means one per
	// core. turns.Readers returns the number of slots including the extra ones. The
	// subscriber should deliver several times as many files, because the other steps of an
	// import wait for the log, and many files can wait for the log at the same time.
	Workers int
	// RequeueAfter is how long a file waits for a slot while long files occupy all slots.
	// Then it is returned to the queue for another node. 0 means no limit.
	RequeueAfter time.Duration
	// FileTimeout limits one attempt to import a file; 0 means 15 minutes. It begins anew after the
	// wait for a slot, and after pages were recognised: the Reader limits the time of the whole file.
	FileTimeout time.Duration
	// Retries is how often a file is retried after a fault of the service; 0 means 4, a
	// negative number means never. Pauses grow from RetryPause (0 means 200 ms) to 10 s. If
	// the last retry fails because something is unavailable, the file is returned to the
	// queue. After any other fault the file fails.
	Retries    int
	RetryPause time.Duration
	Drain      time.Duration // for files in progress when Run ends; 0 means 10 s
	Logger     *slog.Logger  // slog.Default() if nil
	// Observe is called after each attempt to import a file, once for each step with the
	// time that the step took. The wait for a slot does not count. Observe may be nil.
	Observe func(step string, took time.Duration)
	// Ended is called with the outcome of each delivery of a file. Died is called for
	// each reader process that died while reading a file. Both may be nil.
	Ended func(Outcome)
	Died  func()
	// SetAside is called when a file turns out to have scanned pages. It waits in a lane of its
	// own from then on, so the queue should deliver other files in its place. SetAside may be nil.
	SetAside func(job uuid.UUID, file int)

	// SpoolDir is the folder for temporary files. Each stores the text of a file that is
	// being read, except for the first 1 MiB, which stays in memory. Empty means the
	// system's folder for temporary files.
	SpoolDir string

	// Limits, which only tests set; 0 means the default.
	textBatch int   // bytes of sections in one append; default maxTextBatch
	spoolMem  int   // bytes of a file's sections in memory; default defaultSpoolMem
	textLimit int64 // bytes of a file's sections; default extract.Allowance

	once  sync.Once
	slots slots

	mu      sync.Mutex
	started map[fileRef]bool // files whose start this process has recorded
	alone   map[fileRef]bool // files that this process has recorded as suspects, which are read alone
}

// Outcome is the outcome of one delivery of a file.
type Outcome string

// The outcomes.
const (
	Imported Outcome = "imported"   // by this delivery, or by an earlier one
	Failed   Outcome = "failed"     // because of the file itself
	Faulted  Outcome = "fault"      // because of the service, after all retries
	Requeued Outcome = "given_back" // something was unavailable, or all slots were in use
)

func (i *Importer) ended(o Outcome) {
	if i.Ended != nil {
		i.Ended(o)
	}
}

// Summariser composes a document's summary while its text is being read. Its memory is
// bounded.
type Summariser interface {
	Add(sectionTitle, text string)
	Result() (description, summary string)
}

func (i *Importer) logger() *slog.Logger { return cmp.Or(i.Logger, slog.Default()) }

func (i *Importer) timeout() time.Duration { return cmp.Or(i.FileTimeout, 15*time.Minute) }

// Run imports the files that sub delivers until ctx ends. It acknowledges a message when the
// file was imported or has failed. It rejects the message (nack) if ctx or the message's
// context ends before that, or if something that the import needs is unavailable. When ctx
// ends, Run accepts no more messages; the contexts of messages in progress are cancelled
// after the time Drain. Run closes sub, and returns when all its goroutines have ended.
func (i *Importer) Run(ctx context.Context, sub message.Subscriber) error {
	drained, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	source := &source{Subscriber: sub, drained: drained}
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: cmp.Or(i.Drain, 10*time.Second)}, watermill.NewSlogLoggerWithLevelMapping(i.logger(), map[slog.Level]slog.Level{
		slog.LevelInfo: slog.LevelDebug, // Watermill's router logs too many details as Info
	}))
	if err != nil {
		return fmt.Errorf("create the importer's router: %w", err)
	}
	router.AddConsumerHandler("importer", topic, source, i.handle).AddMiddleware(
		source.tracked, middleware.CorrelationID,
		i.conclude, i.retry(), i.report, middleware.Recoverer)
	err = router.Run(ctx)
	stop() // cancels the messages that are in progress after the drain time
	source.running.Wait()
	err = errors.Join(err, sub.Close())
	source.pumped.Wait()
	if err == nil && ctx.Err() == nil {
		return fault.Errorf(fault.Unavailable, "receive files to import: the subscription ended")
	}
	return err
}

// handle makes one attempt to import the file of a message.
func (i *Importer) handle(msg *message.Message) error {
	ref, err := decodeRef(msg)
	if err != nil {
		return err
	}
	return i.importFile(msg.Context(), ref)
}

func decodeRef(msg *message.Message) (ref fileRef, err error) {
	if err := json.Unmarshal(msg.Payload, &ref); err != nil {
		return ref, fmt.Errorf("%w: %w", errBadMessage, err)
	}
	return ref, nil
}

// errBadMessage means that the payload of a message is not a fileRef.
var errBadMessage = errors.New("decode the message that names a file to import")

// conclude records a file's failure as an event, for its user. If the context ended, or
// something is unavailable, it returns the file to the queue instead, so the file survives
// an outage of any length. Files do not return to the queue in a tight loop, because the
// middleware retry has paused between its attempts.
func (i *Importer) conclude(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		_, err := next(msg)
		ctx := msg.Context()
		if err == nil {
			i.ended(Imported)
			return nil, nil
		}
		ref, bad := decodeRef(msg)
		requeue := func(level slog.Level) ([]*message.Message, error) {
			i.ended(Requeued)
			i.logger().Log(ctx, level, "returned a file to the import queue", "message", string(msg.Payload), "error", err)
			return nil, context.Canceled
		}
		switch {
		case ctx.Err() != nil:
			i.forget(ref)
			return requeue(slog.LevelInfo)
		case errors.Is(err, turns.ErrRequeue):
			i.forget(ref)
			return requeue(slog.LevelDebug)
		case outage(err):
			return requeue(slog.LevelWarn)
		}
		if bad != nil || errors.Is(err, errUnknownFile) {
			// The message names no job in which to record the failure, and a retry would
			// fail again.
			i.logger().ErrorContext(ctx, "dropped a message because it names no file of a job", "message", string(msg.Payload), "error", err)
			return nil, nil
		}
		return nil, i.fail(ctx, ref, err)
	}
}

func (i *Importer) fail(ctx context.Context, ref fileRef, why error) error {
	file, err := i.Handler.FileToImport(ctx, ref.Job, ref.File)
	if err != nil {
		return err
	}
	level, outcome := slog.LevelInfo, Failed
	if serviceFault(why) {
		level, outcome = slog.LevelError, Faulted
	}
	i.logger().Log(ctx, level, "a file was not imported", "job", ref.Job, "file", ref.File, "name", file.Accepted.Name, "correlation_id", file.Cause.Correlation, "error", why)
	kind, sentence := describe(why)
	if err := i.Handler.FailFile(ctx, file, kind, shorten(sentence, maxTitle)); err != nil {
		return err
	}
	failpoint.Here(failpoint.FileFailed)
	i.ended(outcome)
	i.forget(ref)
	return nil
}

// describe returns the kind of a failure, and the reason for the user.
func describe(err error) (fault.Kind, string) {
	if serviceFault(err) {
		return fault.Internal, "the file could not be imported because of an internal fault; please try again later"
	}
	return fault.KindOf(err), err.Error()
}

// serviceFault reports whether the service, not the file, caused a failure: a retry may
// succeed.
func serviceFault(err error) bool {
	switch fault.KindOf(err) {
	case fault.Internal:
		return true
	case fault.Conflict:
		return !errors.As(err, new(finalConflict))
	}
	return outage(err)
}

// outage reports whether something that the import needs is unavailable, or whether a call
// that several files share was cancelled by one of them.
func outage(err error) bool {
	return fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Canceled)
}

// retry returns middleware that retries an import after faults of the service.
func (i *Importer) retry() message.HandlerMiddleware {
	return middleware.Retry{
		MaxRetries:      max(0, cmp.Or(i.Retries, 4)),
		InitialInterval: cmp.Or(i.RetryPause, 200*time.Millisecond), MaxInterval: 10 * time.Second,
		Multiplier: 3, RandomizationFactor: 0.3,
		ResetContextOnRetry: true,
		ShouldRetry:         func(p middleware.RetryParams) bool { return retryable(p.Err) },
	}.Middleware
}

// retryable reports whether this node may succeed if it tries again.
func retryable(err error) bool {
	return serviceFault(err) && !errors.Is(err, errBadMessage) && !errors.Is(err, turns.ErrRequeue)
}

// report logs each failed attempt that may be retried.
func (i *Importer) report(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		produced, err := next(msg)
		ctx := msg.Context()
		ref, bad := decodeRef(msg)
		if err == nil || !retryable(err) || ctx.Err() != nil || bad != nil {
			return produced, err
		}
		attrs := []any{"job", ref.Job, "file", ref.File, "error", err}
		if file, unread := i.Handler.FileToImport(ctx, ref.Job, ref.File); unread == nil {
			attrs = append(attrs, "name", file.Accepted.Name, "correlation_id", file.Cause.Correlation)
		}
		i.logger().WarnContext(ctx, "an attempt to import a file failed", attrs...)
		return produced, err
	}
}
