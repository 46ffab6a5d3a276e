package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"annals/events"
	"annals/events/eventstoredb"
	"annals/events/fault"
	"annals/projections"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// rebuild is what one call of the command is to do.
type rebuild struct {
	data, log, readModels, search string
	all, discard, back            bool
	anew                          bool // go on with nothing that was begun

	names   []string
	within  time.Duration // for each answer of a server; 0 for as long as it takes
	folders modelFolders
	options projections.Options
	out     io.Writer // one line for each read model
	told    io.Writer // progress
}

func rebuildCommand(dataDir func() string) *cobra.Command {
	var r rebuild
	command := &cobra.Command{
		Use:   "rebuild [NAME...]",
		Short: "Make read models anew from the log",
		Long: "Make read models anew from the log, beside those that serve: " + strings.Join(projections.Names(), ", ") + ".\n" +
			"A running server takes each up when it is ready, without missing a read; without one, the next start does.\n" +
			"What served before is kept until the next rebuild. One that is interrupted goes on at the next call.",
		Args: func(_ *cobra.Command, names []string) error { return r.check(names) },
		RunE: func(cmd *cobra.Command, names []string) error {
			r.data, r.names, r.out, r.told = dataDir(), names, cmd.OutOrStdout(), cmd.ErrOrStderr()
			if r.all {
				r.names = projections.Names()
			}
			return r.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&r.all, "all", false, "rebuild all read models")
	flags.BoolVar(&r.discard, "discard", false, "first delete what serves and what is kept; not while a server runs")
	flags.BoolVar(&r.back, "back", false, "rebuild nothing: go back to what served before")
	markByFlagAlone(flags, "all", "discard", "back")
	r.bindEngines(flags)
	return command
}

// bindEngines adds the flags that say where the log and the read models are.
func (r *rebuild) bindEngines(flags *pflag.FlagSet) {
	flags.StringVar(&r.log, "log", "", logHelp)
	flags.StringVar(&r.readModels, "read-models", "", "URL of the read models, as serve has it (default: in the data folder)")
	flags.StringVar(&r.search, "search", "", "URL of the search index, as serve has it (default: in the data folder)")
}

func (r *rebuild) check(names []string) error {
	switch {
	case r.all && len(names) > 0:
		return errors.New("--all names all read models: leave the names out, or --all")
	case !r.all && len(names) == 0:
		return errors.New("name the read models to rebuild, or give --all: there are " + strings.Join(projections.Names(), ", "))
	case r.back && r.discard:
		return errors.New("--back goes to what is kept, which --discard would delete")
	}
	return checkNames(names)
}

// checkNames returns an error unless all are names of read models, each once.
func checkNames(names []string) error {
	for i, name := range names {
		if !slices.Contains(projections.Names(), name) {
			return fmt.Errorf("no read model is called %q: there are %s", name, strings.Join(projections.Names(), ", "))
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("%s is named twice", name)
		}
	}
	return nil
}

func (r *rebuild) run(ctx context.Context) (err error) {
	boundMemory()
	closeAll, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if r.discard {
		return r.afresh(ctx)
	}
	for _, name := range r.names {
		if err := r.one(ctx, name, r.settle); err != nil {
			return err
		}
	}
	return nil
}

// open opens the log and the store of generations, as a server beside it does.
func (r *rebuild) open(ctx context.Context) (closeAll func() error, err error) {
	if r.folders, err = newModelFolders(r.readModels, r.search, r.data); err != nil {
		return nil, err
	}
	var driver events.Driver
	err = r.askLog(ctx, func(ctx context.Context) (err error) {
		driver, err = openLog(ctx, logFlag, r.log, r.data, mustExist)
		return err
	})
	if err != nil {
		return nil, err
	}
	if eventstoredb.Knows(r.log) {
		driver = askedLog{driver, r}
	}
	log := events.NewLog(driver)
	logger := slog.New(slog.NewTextHandler(r.told, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: tellCauses}))
	var closeControls func() error
	err = r.askModels(ctx, func(ctx context.Context) (err error) {
		r.options, closeControls, err = r.folders.openControls(ctx, r.data, projections.Options{Log: log, Logger: logger})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	closeAll = func() error { return errors.Join(closeControls(), log.Close()) }
	if err := r.askModels(ctx, r.options.Here); err != nil {
		return nil, errors.Join(err, closeAll())
	}
	return closeAll, nil
}

// askLog asks the log something, which is to answer soon where it is a server's.
func (r *rebuild) askLog(ctx context.Context, ask func(context.Context) error) error {
	if !eventstoredb.Knows(r.log) {
		return ask(ctx)
	}
	return soon(ctx, r.within, "EventStoreDB, where the log is,", ask)
}

// askedLog is a server's log that is read by askLog, also for what is asked of
// the read models.
type askedLog struct {
	events.Driver
	of *rebuild
}

func (l askedLog) Head(ctx context.Context) (head events.Position, err error) {
	err = l.of.askLog(ctx, func(ctx context.Context) (err error) {
		head, err = l.Driver.Head(ctx)
		return err
	})
	return head, err
}

func (l askedLog) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) (batch []events.Record, through events.Position, err error) {
	err = l.of.askLog(ctx, func(ctx context.Context) (err error) {
		batch, through, err = l.Driver.ReadAll(ctx, after, limit, skip)
		return err
	})
	return batch, through, err
}

// askModels is askLog of the read models.
func (r *rebuild) askModels(ctx context.Context, ask func(context.Context) error) error {
	if r.folders.database == nil {
		return ask(ctx)
	}
	return soon(ctx, r.within, fmt.Sprintf("the database %s, where the read models are,", r.folders.database), ask)
}

// silentError tells of a server that did not answer in time.
type silentError struct {
	server string
	within time.Duration
}

func (e *silentError) Error() string {
	return fmt.Sprintf("%s did not answer within %s", e.server, e.within)
}

// soon asks a server something, and names it where it does not answer in time. Where
// another is asked meanwhile, and does not, that one is named.
func soon(ctx context.Context, within time.Duration, server string, ask func(context.Context) error) error {
	if within == 0 {
		return ask(ctx)
	}
	silent := &silentError{server, within}
	limited, cancel := context.WithTimeoutCause(ctx, within, silent)
	defer cancel()
	err := ask(limited)
	var late *silentError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &late): // another was asked
		return late
	case fault.Is(err, fault.Invalid): // what was asked tells more
		return err
	case errors.As(context.Cause(limited), &late): // the caller has not left
		return silent
	}
	return err
}

// afresh deletes before it rebuilds, and keeps servers away meanwhile.
func (r *rebuild) afresh(ctx context.Context) (err error) {
	unlock, err := r.holdAll(ctx)
	if errors.Is(err, errHeld) {
		return fmt.Errorf("--discard deletes what serves, and %w", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	for _, name := range r.names {
		if err := r.options.Discard(ctx, name); err != nil {
			return err
		}
		swap := func(ctx context.Context, name string, _ int) error { return r.options.Switch(ctx, name) }
		if err := r.one(ctx, name, swap); err != nil {
			return err
		}
	}
	return nil
}

// one makes a read model anew, or finds the one that is kept, and lets settle
// see to it that it serves.
func (r *rebuild) one(ctx context.Context, name string, settle func(context.Context, string, int) error) error {
	begun := time.Now()
	generation, err := 0, error(nil)
	if r.back {
		generation, err = r.options.Back(ctx, name)
	} else {
		p, build := newProgress(r.told, "events", isTerminal(r.told)), r.options.Rebuild
		if r.anew {
			build = r.options.RebuildAnew
		}
		begun := false
		generation, err = build(ctx, name, func(done, head events.Position) {
			if !begun { // or the rate would count what an earlier call did
				begun = true
				p.begin(time.Now(), "rebuilding "+name, int64(done), int64(head))
				return
			}
			p.at(time.Now(), int64(done), int64(head))
		})
		p.end()
	}
	if err == nil {
		err = settle(ctx, name, generation)
	}
	if errors.Is(err, errLater) {
		_, err = fmt.Fprintf(r.out, "%s: generation %d is ready; a server of this version takes it up\n", name, generation)
		return err
	}
	if err == nil {
		_, err = fmt.Fprintf(r.out, "%s: generation %d serves, after %s\n", name, generation, time.Since(begun).Round(time.Millisecond))
	}
	return err
}

// errLater says that the server which runs does not take a generation up now.
var errLater = errors.New("it is taken up later")

// takeUpWithin is how long a running server is given before it is left alone:
// it may be of another version, or have much to catch up with.
const takeUpWithin = time.Minute

// settle returns once a generation serves: it switches by itself, or waits for
// the server that holds the read models.
func (r *rebuild) settle(ctx context.Context, name string, generation int) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for begun := time.Now(); ; {
		serves, pending, err := r.options.ControlOf(name).Pending(ctx, name, generation)
		switch {
		case err != nil || serves:
			return err
		case !pending:
			return fmt.Errorf("the server could not take up generation %d of %s; its log says why", generation, name)
		case time.Since(begun) > takeUpWithin:
			return errLater
		}
		if err := r.switchAlone(ctx, name); err == nil || !errors.Is(err, errHeld) {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// holdAll keeps servers from the read models; where one has them it is errHeld.
func (r *rebuild) holdAll(ctx context.Context) (unlock func() error, err error) {
	if unlock, err = r.folders.hold(); err != nil {
		return nil, err
	}
	served, err := r.options.Control.Served(ctx)
	if err == nil && served {
		err = fmt.Errorf("%w %s", errHeld, r.folders.database)
	}
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}

// switchAlone switches if no server holds the read models; else it is errHeld.
func (r *rebuild) switchAlone(ctx context.Context, name string) (err error) {
	unlock, err := r.holdAll(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return r.options.Switch(ctx, name)
}
