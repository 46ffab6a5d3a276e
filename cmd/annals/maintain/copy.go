package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/terminal"
	"annals/events"
	"annals/events/copylog"
)

// Copy copies the events of a log to another log, and compares both logs.
type Copy struct {
	Data     string // data folder; contains the source log if From is empty
	From, To string // URLs of the source and the target log
	Follow   bool   // continue with new events until the context of Run ends
	JSON     bool   // print the result as JSON

	Out, Messages io.Writer
	progress      terminal.Steps
}

// Run copies the log and prints the digests of both logs. It returns an error unless it
// has read both logs to the end and they are equal.
func (c *Copy) Run(ctx context.Context) (err error) {
	c.progress = terminal.Steps{Out: c.Messages}
	defer c.progress.End()
	switch c.To {
	case "":
		return errors.New("--to is required: pass the URL of the log to copy to")
	case c.From:
		return errors.New("--from and --to name the same log")
	}
	if engine.Overlap(c.From, c.To) {
		return errors.New("--from and --to name logs in the same cluster, and one prefix begins with the other: " +
			"the copied events would become part of the source; choose another prefix for the target")
	}
	begun := time.Now()
	source, err := engine.OpenLog(ctx, "from", c.From, c.Data, engine.MustExist)
	if err != nil {
		return fmt.Errorf("open the source: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := engine.OpenLog(ctx, "to", c.To, c.Data, engine.MayCreate)
	if err != nil {
		return fmt.Errorf("open the target: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()

	job := &copylog.Copy{From: source, To: target, Progress: c.progress.Set}
	r, err := job.Run(ctx)
	if err == nil && c.Follow {
		c.progress.End()
		fmt.Fprintf(c.Messages, "the target has all %d events of the source and follows it; interrupt to end\n", r.To.Events)
		r, err = job.Follow(ctx)
	}
	c.progress.End()
	if err != nil {
		return err
	}
	return c.print(r, time.Since(begun))
}

// print prints the number of events and the digest of both logs.
func (c *Copy) print(r copylog.Result, took time.Duration) error {
	if c.JSON {
		return json.NewEncoder(c.Out).Encode(struct {
			From     events.Digest `json:"from"`
			To       events.Digest `json:"to"`
			Appended int64         `json:"appended"`
			Seconds  float64       `json:"seconds"`
		}{r.From, r.To, r.Appended, took.Seconds()})
	}
	for _, side := range []struct {
		name string
		events.Digest
	}{{"from", r.From}, {"to", r.To}} {
		fmt.Fprintf(c.Out, "%-5s sha256 %s of %d events\n", side.name, side.SHA256, side.Events)
	}
	_, err := fmt.Fprintf(c.Out, "equal; %d events appended, in %s\n", r.Appended, took.Round(time.Millisecond))
	return err
}
