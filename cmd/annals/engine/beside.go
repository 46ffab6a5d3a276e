package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections/generation"
)

// ReadTimeout is the value of Beside.Timeout for commands that only read.
const ReadTimeout = 5 * time.Second

// Beside opens the log and the control store of a service for a command. A server may be
// using them at the same time.
type Beside struct {
	URLs
	Timeout time.Duration // for each response of EventStoreDB or PostgreSQL; 0 means no limit
	Logger  *slog.Logger

	Models  Models             // set by Open
	Options generation.Options // set by Open
}

// Open opens the log and the control store. Both must exist.
func (b *Beside) Open(ctx context.Context) (closeAll func() error, err error) {
	if b.Models, err = b.URLs.Models(); err != nil {
		return nil, err
	}
	if err := b.Embeddings.Check(); err != nil {
		return nil, err
	}
	var driver events.Driver
	err = b.readLog(ctx, func(ctx context.Context) (err error) {
		driver, err = OpenLog(ctx, LogFlag, b.Log, b.Data, MustExist)
		return err
	})
	if err != nil {
		return nil, err
	}
	if InCluster(b.Log) {
		driver = timedLog{driver, b}
	}
	log := events.NewLog(driver)
	var closeControl func() error
	err = b.ReadModels(ctx, func(ctx context.Context) (err error) {
		b.Options, closeControl, err = b.Models.OpenControl(ctx, b.Data, generation.Options{Log: log, Logger: b.Logger})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	b.Embedder(&b.Options, nil)
	closeAll = func() error { return errors.Join(closeControl(), log.Close()) }
	if err := b.ReadModels(ctx, b.Options.Here); err != nil {
		return nil, errors.Join(err, closeAll())
	}
	return closeAll, nil
}

// readLog calls read, which reads the log. If the log is at EventStoreDB, read has to
// return within Timeout.
func (b *Beside) readLog(ctx context.Context, read func(context.Context) error) error {
	if !InCluster(b.Log) {
		return read(ctx)
	}
	return withTimeout(ctx, b.Timeout, "EventStoreDB, where the log is,", read)
}

// timedLog is the log of a Beside, with its Timeout for each read.
type timedLog struct {
	events.Driver
	of *Beside
}

func (l timedLog) Head(ctx context.Context) (head events.Position, err error) {
	err = l.of.readLog(ctx, func(ctx context.Context) (err error) {
		head, err = l.Driver.Head(ctx)
		return err
	})
	return head, err
}

func (l timedLog) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) (batch []events.Record, through events.Position, err error) {
	err = l.of.readLog(ctx, func(ctx context.Context) (err error) {
		batch, through, err = l.Driver.ReadAll(ctx, after, limit, skip)
		return err
	})
	return batch, through, err
}

// ReadModels calls read, which reads the read models. If they are in PostgreSQL, read
// has to return within Timeout; otherwise ReadModels returns a TimeoutError.
func (b *Beside) ReadModels(ctx context.Context, read func(context.Context) error) error {
	if b.Models.database == nil {
		return read(ctx)
	}
	return withTimeout(ctx, b.Timeout, fmt.Sprintf("the database %s, where the read models are,", b.Models.database), read)
}

// TimeoutError is returned if EventStoreDB or PostgreSQL did not respond in time.
type TimeoutError struct {
	server  string
	timeout time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s did not respond within %s", e.server, e.timeout)
}

// withTimeout calls f. If f fails because of the timeout, withTimeout returns a
// TimeoutError with the name server. If f called withTimeout for another server and
// that call timed out, the error has the name of the other server.
func withTimeout(ctx context.Context, timeout time.Duration, server string, f func(context.Context) error) error {
	if timeout == 0 {
		return f(ctx)
	}
	expired := &TimeoutError{server, timeout}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, expired)
	defer cancel()
	err := f(limited)
	var inner, cause *TimeoutError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &inner):
		return inner
	case fault.Is(err, fault.Invalid): // this error is more helpful than a TimeoutError
		return err
	case errors.As(context.Cause(limited), &cause): // otherwise the caller canceled ctx
		return expired
	}
	return err
}
