package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"annals/events/compact"
	"annals/events/eventstoredb"
	"annals/events/sqlite"

	"github.com/spf13/cobra"
)

// compactConfig is what compact can be told.
type compactConfig struct {
	data, log string
	dryRun    bool
	grace     time.Duration

	out      io.Writer
	progress *checkBar
}

func compactCommand(dataDir func() string) *cobra.Command {
	c := new(compactConfig)
	command := &cobra.Command{
		Use:   "compact",
		Short: "Remove from the log the texts of imports that came to nothing",
		Long: "Remove from the log the texts of imports that came to nothing: those that no document names, or ever named, and\n" +
			"whose import job has ended. All other events stay as they are, at their positions: their digest is\n" +
			"printed, of before and of what is read at the end. Texts of earlier versions and of deleted documents stay.\n\n" +
			"An embedded log is compacted while no server runs, and its file becomes smaller; that takes as much room on the\n" +
			"disk again while it works. Where the digests would differ nothing is removed. Cut off at any moment it leaves the log as it was, or compacted; call it again then.\n" +
			"At EventStoreDB it works beside running servers: the streams are truncated, and vanish from the server's disk\n" +
			"when it is scavenged, all but the last event of each. That comes before the digest of what is left, and is not\n" +
			"undone: after an error do not scavenge, and compare the log with a backup.\n\n" +
			"Backups and copies that were made before hold the removed texts still, and go on to fit the log.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.data, c.out = dataDir(), cmd.OutOrStdout()
			c.progress = newCheckBar(cmd.ErrOrStderr())
			defer c.progress.end()
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.log, logFlag, "", logHelp)
	flags.BoolVar(&c.dryRun, "dry-run", false, "print what would be removed, and remove nothing")
	flags.DurationVar(&c.grace, "grace", time.Hour, "how long ago a job must have ended, at EventStoreDB, where servers go on meanwhile")
	markByFlagAlone(flags, "dry-run")
	return command
}

func (c *compactConfig) run(ctx context.Context) (err error) {
	if c.grace < 0 {
		return errors.New("--grace must not be negative")
	}
	job := &compact.Compaction{Progress: c.progress.at}
	if job.Log, err = openLog(ctx, logFlag, c.log, c.data, mustExist); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Log.Close()) }()
	if eventstoredb.Knows(c.log) {
		job.Before = time.Now().Add(-c.grace)
	} else if !c.dryRun {
		unlock, err := hold("the data folder", c.data, "serve.lock")
		if errors.Is(err, errHeld) {
			return fmt.Errorf("%w: stop it first, or use --dry-run, which works beside it", err)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	plan, err := job.Plan(ctx)
	c.progress.end()
	if err != nil {
		return err
	}
	c.tell(plan)
	if c.dryRun {
		return nil
	}
	var proof compact.Result
	if len(plan.Texts) > 0 {
		proof, err = job.Run(ctx, plan)
		c.progress.end()
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "before  sha256 %s of %d other events\n", proof.Before.SHA256, proof.Before.Events)
	}
	file, embedded := job.Log.(*sqlite.Driver)
	if embedded {
		if err := c.shrink(ctx, file); err != nil {
			return err
		}
	}
	if len(plan.Texts) == 0 {
		return nil
	}
	return c.prove(ctx, job, plan, proof, embedded)
}

// prove reads what is left, and prints its digest.
func (c *compactConfig) prove(ctx context.Context, job *compact.Compaction, plan *compact.Plan, proof compact.Result, embedded bool) error {
	after, err := job.Prove(ctx, plan, proof)
	c.progress.end()
	if err != nil && !embedded {
		return fmt.Errorf("the streams are truncated, and it is not proved that all else stayed: do not scavenge the server: %w", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "after   sha256 %s of %d, equal\n", after.SHA256, after.Events)
	if embedded {
		fmt.Fprintln(c.out, "the read model of passages may hold these texts still: annals rebuild passages gives their room back")
	} else {
		fmt.Fprintln(c.out, "the streams are truncated; scavenge the server to get the room back")
	}
	return nil
}

// maxListed is how many texts are listed.
const maxListed = 20

// tell prints what is to be removed.
func (c *compactConfig) tell(p *compact.Plan) {
	what, sum := "removes", p.Sum()
	if c.dryRun {
		what = "would remove"
	}
	fmt.Fprintf(c.out, "%s %s that came to nothing: %d events of %d bytes\n", what, countTexts(len(p.Texts)), sum.Events, sum.Bytes)
	for i, t := range p.Texts {
		if i == maxListed {
			fmt.Fprintf(c.out, "  and %d more\n", len(p.Texts)-i)
			break
		}
		fmt.Fprintf(c.out, "  %s  %d events of %d bytes, of job %s\n", t.Stream, t.Events, t.Bytes, t.Job)
	}
	if p.Open > 0 {
		fmt.Fprintf(c.out, "leaves %s of jobs that go on, or ended just now\n", countTexts(p.Open))
	}
	if p.Unknown > 0 {
		fmt.Fprintf(c.out, "leaves %s of which no job is known\n", countTexts(p.Unknown))
	}
}

func countTexts(n int) string {
	if n == 1 {
		return "1 text"
	}
	return fmt.Sprintf("%d texts", n)
}

// shrink gives the room of an embedded log back.
func (c *compactConfig) shrink(ctx context.Context, file *sqlite.Driver) error {
	before, after, err := file.Shrink(ctx)
	if err != nil {
		return fmt.Errorf("the texts are removed, and their room is used again, but the file keeps its size: %w", err)
	}
	fmt.Fprintf(c.out, "the log had %d bytes, and has %d\n", before, after)
	return nil
}
