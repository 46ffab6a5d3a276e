// Package importer carries out import jobs: it reads each accepted file, appends
// its text once all of it was read, files it as a document and ends its work in
// the job. Work comes as messages and is done again from the start wherever
// it was cut off; what was appended before is recognised. It imports commands
// and events.
package importer

import (
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

// Topic is where the work comes from.
const Topic = "import.files"

// Work is the payload of a message: one file of one job.
type Work struct {
	Job  uuid.UUID `json:"job"`
	File int       `json:"file"`
}

// Importer works on the files of import jobs. Set its fields before Run; those
// that may be zero say what they mean then.
type Importer struct {
	Handler   *commands.Handler
	Originals originals.Store
	Reader    extract.Reader
	// Summarise starts the summary of a document. Nil: there is none.
	Summarise func(title string) Summariser

	// Workers is how many files are read side by side; 0: as many as cores.
	// The subscriber should deliver several times as many at once: the rest
	// of the work on a file waits for the log, and many wait together.
	// turns.Readers says how many are read at most.
	Workers int
	// GiveBackAfter is how long a file waits for its turn while all of those that
	// are read take long, before it is given back for another node to take; 0: for
	// ever.
	GiveBackAfter time.Duration
	// FileTimeout is for one try at a file, without the time that it waits for
	// its turn to be read; 0: 15 minutes.
	FileTimeout time.Duration
	// Retries of a file after a failure that is not its own: 0: 4, negative:
	// none. Pauses go from RetryPause (0: 200 ms) to 10 s. Where the cause is
	// that something is unavailable, the file is given back after them, and
	// else it fails.
	Retries    int
	RetryPause time.Duration
	Drain      time.Duration // for files in work when Run is to end; 0: 10 s
	Logger     *slog.Logger  // nil: slog.Default()
	// Observe is told, after each try at a file, for how long that was at each
	// of its steps; waiting for its turn to be read is none of them. May be nil.
	Observe func(step string, took time.Duration)
	// Ended is called once for each delivery of a file, with how the work on it
	// ended, and Died for each process that ended while it read one. May be nil.
	Ended func(Outcome)
	Died  func()

	// SpoolDir is where text of a file that is longer than 1 MiB lies until all
	// of it was read; empty: the system's folder of temporary files.
	SpoolDir string

	textBatch int   // most bytes of sections in one append; 0: maxTextBatch
	textHeld  int   // most bytes of sections in memory; 0: heldText
	textMost  int64 // most bytes of a file's sections; 0: by its size

	once   sync.Once
	places places

	mu      sync.Mutex
	started map[Work]bool // files that this process took up and told so
	alone   map[Work]bool // and of which it told that they are read alone
}

// Outcome is how the work on a file ended.
type Outcome string

// The outcomes.
const (
	Imported  Outcome = "imported"   // or had ended before
	Failed    Outcome = "failed"     // for a reason of the file's own
	Faulty    Outcome = "fault"      // of the service, after all retries
	GivenBack Outcome = "given_back" // to be taken up again: something was unreachable, or places were taken
)

func (i *Importer) ended(o Outcome) {
	if i.Ended != nil {
		i.Ended(o)
	}
}

// Summariser composes a document's summary from its text as it comes. It
// holds a bounded part of it.
type Summariser interface {
	Add(sectionTitle, text string)
	Result() (description, summary string)
}

func (i *Importer) logger() *slog.Logger {
	if i.Logger != nil {
		return i.Logger
	}
	return slog.Default()
}

func or[T int | int64 | time.Duration](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

func (i *Importer) timeout() time.Duration { return or(i.FileTimeout, 15*time.Minute) }

// Run works on what sub delivers on Topic until ctx ends. Each message is
// acknowledged once the work on its file has ended, well or badly, and given
// back (nack) where it could not be ended: because ctx or the message's own
// context did, or something that the work needs is unavailable. When ctx ends, no more messages are taken, and those in work
// have the Drain time to end before their contexts do. Run closes sub, and
// returns once nothing of its own is running.
func (i *Importer) Run(ctx context.Context, sub message.Subscriber) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	source := &source{Subscriber: sub, work: work}
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: or(i.Drain, 10*time.Second)}, watermill.NewSlogLoggerWithLevelMapping(i.logger(), map[slog.Level]slog.Level{
		slog.LevelInfo: slog.LevelDebug, // the router tells each of its steps
	}))
	if err != nil {
		return fmt.Errorf("make the importer's router: %w", err)
	}
	router.AddConsumerHandler("importer", Topic, source, i.work).AddMiddleware(
		source.tracked, middleware.CorrelationID,
		i.conclude, i.retry(), i.report, middleware.Recoverer)
	err = router.Run(ctx)
	stop() // the drain is over: whatever is still in work ends with its context
	source.running.Wait()
	err = errors.Join(err, sub.Close())
	source.pumped.Wait()
	if err == nil && ctx.Err() == nil {
		return fault.Errorf(fault.Unavailable, "the importer's source of work ended")
	}
	return err
}

// work does the work of one message, once.
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

// errNoWork says that a message names no file.
var errNoWork = errors.New("the message is no work")

// conclude is what a poison queue is elsewhere: it ends the work on a file
// that failed for good, by an event, so that a failure is told to whoever
// waits for it. Work whose context ended is given back instead, and so is what
// failed because of an outage: it survives that, however long it is. Retries
// come before, so that it does not go round and round at full speed.
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
			i.logger().WarnContext(ctx, "gave a file back, to be tried again later", "work", string(msg.Payload), "error", err)
			return nil, context.Canceled
		}
		if bad != nil || errors.Is(err, errUnknownFile) {
			// No job to tell it to; the same message would fail for ever.
			i.logger().ErrorContext(ctx, "dropped a message that is no work", "payload", string(msg.Payload), "error", err)
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
	kind, sentence := tell(why)
	if err := i.Handler.FailFile(ctx, file, kind, shorten(sentence, maxTitle)); err != nil {
		return err
	}
	failpoint.Here(failpoint.FileFailed)
	i.ended(outcome)
	i.forget(w)
	return nil
}

// tell returns whose fault it is that a file was not imported, and the
// sentence that says so to the user.
func tell(err error) (fault.Kind, string) {
	if ours(err) {
		return fault.Internal, "the file could not be imported because of an internal fault; please try again later"
	}
	return fault.KindOf(err), err.Error()
}

// ours reports whether a failure is not the file's own, and may pass.
func ours(err error) bool {
	switch fault.KindOf(err) {
	case fault.Internal:
		return true
	case fault.Conflict:
		return !errors.As(err, new(overtaken))
	}
	return outage(err)
}

// outage reports whether a failure is that of something the work needs, or of
// another's call that it shared.
func outage(err error) bool {
	return fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Canceled)
}

// retry does the work again after failures that are not the file's own.
func (i *Importer) retry() message.HandlerMiddleware {
	return middleware.Retry{
		MaxRetries:      max(0, or(i.Retries, 4)),
		InitialInterval: or(i.RetryPause, 200*time.Millisecond), MaxInterval: 10 * time.Second,
		Multiplier: 3, RandomizationFactor: 0.3,
		ResetContextOnRetry: true,
		ShouldRetry:         func(p middleware.RetryParams) bool { return passing(p.Err) },
	}.Middleware
}

// passing reports whether it is worth while to do the work again.
func passing(err error) bool {
	return ours(err) && !errors.Is(err, errNoWork) && !errors.Is(err, turns.ErrGiveBack)
}

// report logs each try that failed for a reason that may pass, so that it can be
// followed from the request on.
func (i *Importer) report(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		made, err := next(msg)
		ctx := msg.Context()
		w, bad := decodeWork(msg)
		if err == nil || !passing(err) || ctx.Err() != nil || bad != nil {
			return made, err
		}
		told := []any{"job", w.Job, "file", w.File, "error", err}
		if file, unknown := i.Handler.FileToImport(ctx, w.Job, w.File); unknown == nil { // else the log cannot be read
			told = append(told, "name", file.Accepted.Name, "correlation_id", file.Cause.Correlation)
		}
		i.logger().WarnContext(ctx, "a try at importing a file failed", told...)
		return made, err
	}
}
