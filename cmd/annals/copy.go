package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"annals/events/copylog"
	"annals/events/eventstoredb"

	"github.com/spf13/cobra"
)

// copyConfig is what copy can be told.
type copyConfig struct {
	data, from, to string
	follow, json   bool

	out, told io.Writer
	progress  *checkBar
}

func copyCommand(dataDir func() string) *cobra.Command {
	c := new(copyConfig)
	command := &cobra.Command{
		Use:   "copy --to URL",
		Short: "Copy the log into another, of the same engine or another",
		Long: "Copy the log into another, of the same engine or another, and compare the two. Ids, streams, revisions, order,\n" +
			"types, times, payloads and metadata stay as they are, to the byte; positions are the other log's own.\n\n" +
			"The target must be empty, or hold the beginning of the source and nothing else: a copy that was cut off goes on\n" +
			"where the target ends. The source may be in use; what is appended after the start is left to the next call, or to\n" +
			"--follow, which goes on until it is interrupted and then takes over what the source holds. To change over within\n" +
			"seconds, wait until it follows, stop the servers of the source, interrupt it, and start them on the target.\n" +
			"No server may run on the target before.\n\n" +
			"Read models hold positions, and are made anew from the target. Uploaded files and accounts are not copied.\n" +
			"The exit status is 0 only if both logs were read to the end and are equal.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.data, c.out, c.told = dataDir(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			c.progress = newCheckBar(c.told)
			defer c.progress.end()
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.from, "from", "", "URL of the log to copy (default: log.db in the data folder)")
	flags.StringVar(&c.to, "to", "", "URL of the log to copy it to; one in a file is made")
	flags.BoolVar(&c.follow, "follow", false, "go on with new events as they happen, until interrupted")
	flags.BoolVar(&c.json, "json", false, "print the result as one JSON object")
	markByFlagAlone(flags, "from", "to", "follow")
	return command
}

func (c *copyConfig) run(ctx context.Context) (err error) {
	switch c.to {
	case "":
		return errors.New("--to must name the log to copy to")
	case c.from:
		return errors.New("--from and --to name the same log")
	}
	if eventstoredb.Knows(c.from) && eventstoredb.Knows(c.to) && eventstoredb.Overlap(c.from, c.to) {
		return errors.New("--from and --to name logs of one cluster, and the prefix of the one begins that of the other: " +
			"what is copied would be the source's as well")
	}
	begun := time.Now()
	source, err := openLog(ctx, "from", c.from, c.data, mustExist)
	if err != nil {
		return fmt.Errorf("the source: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := openLog(ctx, "to", c.to, c.data, mayCreate)
	if err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()

	job := &copylog.Copy{From: source, To: target, Progress: c.progress.at}
	r, err := job.Run(ctx)
	if err == nil && c.follow {
		c.progress.end()
		fmt.Fprintf(c.told, "the target holds the %d events of the source, and follows; interrupt to end\n", r.To.Events)
		r, err = job.Follow(ctx)
	}
	c.progress.end()
	if err != nil {
		return err
	}
	return c.tell(r, time.Since(begun))
}

// tell prints what both logs hold.
func (c *copyConfig) tell(r copylog.Result, took time.Duration) error {
	if c.json {
		return json.NewEncoder(c.out).Encode(struct {
			From     copylog.Digest `json:"from"`
			To       copylog.Digest `json:"to"`
			Appended int64          `json:"appended"`
			Seconds  float64        `json:"seconds"`
		}{r.From, r.To, r.Appended, took.Seconds()})
	}
	for _, side := range []struct {
		name string
		copylog.Digest
	}{{"from", r.From}, {"to", r.To}} {
		fmt.Fprintf(c.out, "%-5s sha256 %s of %d events\n", side.name, side.SHA256, side.Events)
	}
	_, err := fmt.Fprintf(c.out, "equal; %d events appended, in %s\n", r.Appended, took.Round(time.Millisecond))
	return err
}
