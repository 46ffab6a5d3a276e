// Package importer executes import jobs. It reads each accepted file, appends the text
// once the whole file was read, files it as a document, and records the outcome in the
// job. Files are delivered as messages. Interrupted work restarts from the beginning and
// recognises what it appended before. The package imports commands and events.
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

// Topic is the queue of work.
const Topic = "import.files"

// Work is the payload of a message: one file of one job.
type Work struct {
	Job  uuid.UUID `json:"job"`
	File int       `json:"file"`
}

// Importer imports the files of jobs. Set its fields before Run; fields that may be
// zero document their default.
type Importer struct {
	Handler   *commands.Handler
	Originals originals.Store
	Reader    extract.Reader
	// Summarise starts the summary of a document. It may be nil.
	Summarise func(title string) Summariser

	// Workers is how many files are read at a time; 0 means one per core. The
	// subscriber should deliver several times as many at once, because other steps
	// wait for the log, where many files can wait together. turns.Readers returns
	// how many are read at most.
	Workers int
	// GiveBackAfter is how long a file waits for its turn, while all files being read
	// take long, before it is given back for another node; 0 means for ever.
	GiveBackAfter time.Duration
	// FileTimeout is for one attempt at a file, without the wait for its turn to be
	// read; 0 means 15 minutes.
	FileTimeout time.Duration
	// Retries is how often a file is retried after a failure of the service; 0 means 4,
	// a negative number means never. Pauses grow from RetryPause (0 means 200 ms) to
	// 10 s. After the last retry the file is given back if something is unavailable,
	// and fails otherwise.
	Retries    int
	RetryPause time.Duration
	Drain      time.Duration // for files in progress when Run ends; 0 means 10 s
	Logger     *slog.Logger  // slog.Default() if nil
	// Observe is called after each attempt at a file with the duration of each of
	// its steps, without the wait for its turn to be read. May be nil.
	Observe func(step string, took time.Duration)
	// Ended is called once for each delivery of a file, with the outcome. Died is
	// called for each process that ended while it read a file. Both may be nil.
	Ended func(Outcome)
	Died  func()

	// SpoolDir is the folder for temporary files, which hold the text of a file beyond
	// 1 MiB until the whole file was read; empty means the system's.
	SpoolDir string

	textBatch int   // most bytes of sections in one append; 0 means maxTextBatch
	textHeld  int   // most bytes of sections in memory; 0 means heldText
	textMost  int64 // most bytes of a file's sections; 0 means by its size

	once  sync.Once
	slots slots

	mu      sync.Mutex
	started map[Work]bool // files whose start this process has recorded
	alone   map[Work]bool // files that this process has recorded as read alone
}

// Outcome is how the work on a file ended.
type Outcome string

// The outcomes.
const (
	Imported  Outcome = "imported"   // or its work had ended before
	Failed    Outcome = "failed"     // because of the file itself
	Faulty    Outcome = "fault"      // because of the service, after all retries
	GivenBack Outcome = "given_back" // to be delivered again: something was unavailable, or all slots were in use
)

func (i *Importer) ended(o Outcome) {
	if i.Ended != nil {
		i.Ended(o)
	}
}

// Summariser composes a document's summary while its text is being read. It holds a
// bounded part of it.
type Summariser interface {
	Add(sectionTitle, text string)
	Result() (description, summary string)
}

func (i *Importer) logger() *slog.Logger { return cmp.Or(i.Logger, slog.Default()) }

func (i *Importer) timeout() time.Duration { return cmp.Or(i.FileTimeout, 15*time.Minute) }

// Run imports the files that sub delivers on Topic until ctx ends. It acknowledges a
// message once the file was imported or has failed. It gives the message back (nack) if
// ctx or the message's own context ended first, or if something that the work needs is
// unavailable. When ctx ends, Run takes no more messages, and those in progress have the
// Drain time before their contexts end. Run closes sub, and returns once all its
// goroutines have ended.
func (i *Importer) Run(ctx context.Context, sub message.Subscriber) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	source := &source{Subscriber: sub, work: work}
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: cmp.Or(i.Drain, 10*time.Second)}, watermill.NewSlogLoggerWithLevelMapping(i.logger(), map[slog.Level]slog.Level{
		slog.LevelInfo: slog.LevelDebug, // the router logs each of its steps
	}))
	if err != nil {
		return fmt.Errorf("create the importer's router: %w", err)
	}
	router.AddConsumerHandler("importer", Topic, source, i.work).AddMiddleware(
		source.tracked, middleware.CorrelationID,
		i.conclude, i.retry(), i.report, middleware.Recoverer)
	err = router.Run(ctx)
	stop() // the drain time is over: this cancels what is still in progress
	source.running.Wait()
	err = errors.Join(err, sub.Close())
	source.pumped.Wait()
	if err == nil && ctx.Err() == nil {
		return fault.Errorf(fault.Unavailable, "receive files to import: the subscription ended")
	}
	return err
}

// work makes one attempt at the file of a message.
func (i *Importer) work(msg *message.Message) error {
	w, err := decodeWork(msg)
	if err != nil {
		return err
	}
	return i.importFile(msg.Context(), w)
}

func decodeWork(msg *message.Message) (w Work, err error) {
	if err := json.Unmarshal(msg.Payload, &w); err != nil {
		return w, fmt.Errorf("%w: %w", errNoWork, err)
	}
	return w, nil
}

// errNoWork means that a message names no file.
var errNoWork = errors.New("the message names no file to import")

// conclude records the failure of a file as an event, which its user can see; this takes
// the role of a poison queue. A file whose context ended, or that failed because of an
// outage, is given back instead, so it survives an outage of any length. It was retried
// with pauses before, which bounds how often it is delivered again.
func (i *Importer) conclude(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		_, err := next(msg)
		ctx := msg.Context()
		if err == nil {
			i.ended(Imported)
			return nil, nil
		}
		w, bad := decodeWork(msg)
		if ctx.Err() != nil {
			i.ended(GivenBack)
			i.forget(w)
			i.logger().InfoContext(ctx, "gave a file back", "work", string(msg.Payload), "error", err)
			return nil, context.Canceled
		}
		if errors.Is(err, turns.ErrGiveBack) {
			i.ended(GivenBack)
			i.forget(w)
			i.logger().DebugContext(ctx, "gave a file back", "work", string(msg.Payload), "error", err)
			return nil, context.Canceled
		}
		if outage(err) {
			i.ended(GivenBack)
			i.logger().WarnContext(ctx, "gave a file back to be imported later", "work", string(msg.Payload), "error", err)
			return nil, context.Canceled
		}
		if bad != nil || errors.Is(err, errUnknownFile) {
			// The failure cannot be recorded in a job, and a retry would fail again.
			i.logger().ErrorContext(ctx, "dropped a message that names no file to import", "payload", string(msg.Payload), "error", err)
			return nil, nil
		}
		return nil, i.fail(ctx, w, err)
	}
}

func (i *Importer) fail(ctx context.Context, w Work, why error) error {
	file, err := i.Handler.FileToImport(ctx, w.Job, w.File)
	if err != nil {
		return err
	}
	level, outcome := slog.LevelInfo, Failed
	if ours(why) {
		level, outcome = slog.LevelError, Faulty
	}
	i.logger().Log(ctx, level, "a file was not imported", "job", w.Job, "file", w.File, "name", file.Accepted.Name, "correlation_id", file.Cause.Correlation, "error", why)
	kind, sentence := describe(why)
	if err := i.Handler.FailFile(ctx, file, kind, shorten(sentence, maxTitle)); err != nil {
		return err
	}
	failpoint.Here(failpoint.FileFailed)
	i.ended(outcome)
	i.forget(w)
	return nil
}

// describe returns the kind of a failure, and the sentence about it for the user.
func describe(err error) (fault.Kind, string) {
	if ours(err) {
		return fault.Internal, "the file could not be imported because of an internal fault; please try again later"
	}
	return fault.KindOf(err), err.Error()
}

// ours reports whether the service, not the file, caused a failure: a retry may succeed.
func ours(err error) bool {
	switch fault.KindOf(err) {
	case fault.Internal:
		return true
	case fault.Conflict:
		return !errors.As(err, new(overtaken))
	}
	return outage(err)
}

// outage reports whether something that the work needs is unavailable, or a call
// that it shared was cancelled.
func outage(err error) bool {
	return fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Canceled)
}

// retry retries the work after failures of the service.
func (i *Importer) retry() message.HandlerMiddleware {
	return middleware.Retry{
		MaxRetries:      max(0, cmp.Or(i.Retries, 4)),
		InitialInterval: cmp.Or(i.RetryPause, 200*time.Millisecond), MaxInterval: 10 * time.Second,
		Multiplier: 3, RandomizationFactor: 0.3,
		ResetContextOnRetry: true,
		ShouldRetry:         func(p middleware.RetryParams) bool { return passing(p.Err) },
	}.Middleware
}

// passing reports whether a retry may succeed.
func passing(err error) bool {
	return ours(err) && !errors.Is(err, errNoWork) && !errors.Is(err, turns.ErrGiveBack)
}

// report logs each failed attempt that will be retried, with the ids that lead to its
// request.
func (i *Importer) report(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		made, err := next(msg)
		ctx := msg.Context()
		w, bad := decodeWork(msg)
		if err == nil || !passing(err) || ctx.Err() != nil || bad != nil {
			return made, err
		}
		attrs := []any{"job", w.Job, "file", w.File, "error", err}
		if file, unknown := i.Handler.FileToImport(ctx, w.Job, w.File); unknown == nil { // else the log cannot be read
			attrs = append(attrs, "name", file.Accepted.Name, "correlation_id", file.Cause.Correlation)
		}
		i.logger().WarnContext(ctx, "an attempt to import a file failed", attrs...)
		return made, err
	}
}
