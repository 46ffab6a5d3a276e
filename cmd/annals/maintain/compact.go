package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/terminal"
	"annals/events/compact"
)

// Compaction removes the texts of failed imports from the log.
type Compaction struct {
	engine.URLs
	DryRun bool
	Grace  time.Duration // minimum time since the job of a text ended; only for a log at EventStoreDB

	Out, Messages io.Writer
	progress      terminal.Steps
}

// Run removes the texts and lists them. It prints the digest of all other events before
// and after the removal, which must be equal.
func (c *Compaction) Run(ctx context.Context) (err error) {
	c.progress = terminal.Steps{Out: c.Messages}
	defer c.progress.End()
	if c.Grace < 0 {
		return errors.New("--grace must be 0 or more")
	}
	job := &compact.Compaction{Progress: c.progress.Set}
	if job.Log, err = engine.OpenLog(ctx, engine.LogFlag, c.Log, c.Data, engine.MustExist); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Log.Close()) }()
	if engine.InCluster(c.Log) {
		job.Before = time.Now().Add(-c.Grace)
	} else if !c.DryRun {
		unlock, err := engine.LockData(c.Data)
		if errors.Is(err, engine.ErrLocked) {
			return fmt.Errorf("%w: stop it first, or use --dry-run", err)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	plan, err := job.Plan(ctx)
	c.progress.End()
	if err != nil {
		return err
	}
	c.print(plan)
	if c.DryRun {
		return nil
	}
	var proof compact.Result
	if len(plan.Texts) > 0 {
		proof, err = job.Run(ctx, plan)
		c.progress.End()
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Out, "before  sha256 %s of %d other events\n", proof.Before.SHA256, proof.Before.Events)
	}
	file, embedded := job.Log.(shrinker)
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

// prove reads the events that are left, and prints their digest.
func (c *Compaction) prove(ctx context.Context, job *compact.Compaction, plan *compact.Plan, proof compact.Result, embedded bool) error {
	after, err := job.Prove(ctx, plan, proof)
	c.progress.End()
	if err != nil && !embedded {
		return fmt.Errorf("check that all other events are unchanged after truncating the streams: %w; do not scavenge EventStoreDB, and compare the log with a backup", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "after   sha256 %s of %d, equal\n", after.SHA256, after.Events)
	if embedded {
		fmt.Fprintln(c.Out, "the read model passages may still have these texts: annals rebuild passages frees their space")
	} else {
		fmt.Fprintln(c.Out, "the streams are truncated; scavenge EventStoreDB to free the space")
	}
	return nil
}

const maxListed = 20

// print lists up to maxListed texts that are removed.
func (c *Compaction) print(p *compact.Plan) {
	what, sum := "removes", p.Sum()
	if c.DryRun {
		what = "would remove"
	}
	fmt.Fprintf(c.Out, "%s %s of failed imports: %d events of %d bytes\n", what, countOf("text", len(p.Texts)), sum.Events, sum.Bytes)
	for i, t := range p.Texts {
		if i == maxListed {
			fmt.Fprintf(c.Out, "  and %d more\n", len(p.Texts)-i)
			break
		}
		fmt.Fprintf(c.Out, "  %s  %d events of %d bytes, of job %s\n", t.Stream, t.Events, t.Bytes, t.Job)
	}
	if p.Open > 0 {
		fmt.Fprintf(c.Out, "keeps %s of jobs that are running or ended only recently\n", countOf("text", p.Open))
	}
	if p.Unknown > 0 {
		fmt.Fprintf(c.Out, "keeps %s of unknown jobs\n", countOf("text", p.Unknown))
	}
}

// countOf returns a number and a noun, such as "2 texts".
func countOf(thing string, n int) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// shrinker is implemented by the embedded log. Shrink returns the space of removed
// events to the disk. before and after are the sizes of the log file in bytes.
type shrinker interface {
	Shrink(context.Context) (before, after int64, err error)
}

func (c *Compaction) shrink(ctx context.Context, file shrinker) error {
	before, after, err := file.Shrink(ctx)
	if err != nil {
		return fmt.Errorf("shrink the log file: %w; the texts are removed, and new events will reuse their space", err)
	}
	fmt.Fprintf(c.Out, "the log had %d bytes and now has %d\n", before, after)
	return nil
}
