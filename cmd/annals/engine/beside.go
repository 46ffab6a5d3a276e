package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"annals/events"
	"annals/events/eventstoredb"
	"annals/events/fault"
	"annals/projections/generation"
)

// LookTimeout is the usual Timeout of commands that only read.
const LookTimeout = 5 * time.Second

// Beside is the log and the control store of a service, as commands open them
// beside a server that may be running.
type Beside struct {
	URLs
	Timeout time.Duration // for each answer of EventStoreDB or PostgreSQL; 0 for none
	Logger  *slog.Logger

	Models  Models             // after Open
	Options generation.Options // after Open
}

// Open opens both. There must be a log and a control store.
func (b *Beside) Open(ctx context.Context) (closeAll func() error, err error) {
	if b.Models, err = b.URLs.Models(); err != nil {
		return nil, err
	}
	var driver events.Driver
	err = b.askLog(ctx, func(ctx context.Context) (err error) {
		driver, err = OpenLog(ctx, LogFlag, b.Log, b.Data, MustExist)
		return err
	})
	if err != nil {
		return nil, err
	}
	if eventstoredb.Knows(b.Log) {
		driver = timedLog{driver, b}
	}
	log := events.NewLog(driver)
	var closeControl func() error
	err = b.Ask(ctx, func(ctx context.Context) (err error) {
		b.Options, closeControl, err = b.Models.OpenControl(ctx, b.Data, generation.Options{Log: log, Logger: b.Logger})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	closeAll = func() error { return errors.Join(closeControl(), log.Close()) }
	if err := b.Ask(ctx, b.Options.Here); err != nil {
		return nil, errors.Join(err, closeAll())
	}
	return closeAll, nil
}

// askLog calls ask, which reads the log, with the timeout if the log is at
// EventStoreDB.
func (b *Beside) askLog(ctx context.Context, ask func(context.Context) error) error {
	if !eventstoredb.Knows(b.Log) {
		return ask(ctx)
	}
	return withTimeout(ctx, b.Timeout, "EventStoreDB, where the log is,", ask)
}

// timedLog is a log that is read by askLog.
type timedLog struct {
	events.Driver
	of *Beside
}

func (l timedLog) Head(ctx context.Context) (head events.Position, err error) {
	err = l.of.askLog(ctx, func(ctx context.Context) (err error) {
		head, err = l.Driver.Head(ctx)
		return err
	})
	return head, err
}

func (l timedLog) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) (batch []events.Record, through events.Position, err error) {
	err = l.of.askLog(ctx, func(ctx context.Context) (err error) {
		batch, through, err = l.Driver.ReadAll(ctx, after, limit, skip)
		return err
	})
	return batch, through, err
}

// Ask calls ask, which reads the read models, with the timeout if they are in
// PostgreSQL. The error of a timeout is a TimeoutError.
func (b *Beside) Ask(ctx context.Context, ask func(context.Context) error) error {
	if b.Models.database == nil {
		return ask(ctx)
	}
	return withTimeout(ctx, b.Timeout, fmt.Sprintf("the database %s, where the read models are,", b.Models.database), ask)
}

// TimeoutError is the error for a server that did not answer in time.
type TimeoutError struct {
	server  string
	timeout time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s did not answer within %s", e.server, e.timeout)
}

// withTimeout calls ask, and returns a TimeoutError that names the server if it
// did not answer in time. Calls may be nested: the error names the server of the
// inner one if that timed out.
func withTimeout(ctx context.Context, timeout time.Duration, server string, ask func(context.Context) error) error {
	if timeout == 0 {
		return ask(ctx)
	}
	expired := &TimeoutError{server, timeout}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, expired)
	defer cancel()
	err := ask(limited)
	var inner, cause *TimeoutError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &inner):
		return inner
	case fault.Is(err, fault.Invalid): // this says more than that there was no answer
		return err
	case errors.As(context.Cause(limited), &cause): // not that the caller cancelled
		return expired
	}
	return err
}
