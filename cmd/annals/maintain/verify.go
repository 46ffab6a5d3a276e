package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/terminal"
	"annals/events"
	"annals/events/originals"
	"annals/projections/generation"
	"annals/projections/verify"
)

// Verification checks the log and the originals. It also builds new read models from
// the log, and compares them with the active read models and the search index.
type Verification struct {
	engine.URLs
	Quick bool // check only the size of originals, not their content

	Out, Messages io.Writer
}

// Run prints one line for each check, and the first problems that the check found. If
// there are problems, it returns an error.
func (v *Verification) Run(ctx context.Context) (err error) {
	driver, err := engine.OpenLog(ctx, engine.LogFlag, v.Log, v.Data, engine.MustExist)
	if err != nil {
		return err
	}
	log := events.NewLog(driver)
	defer func() { err = errors.Join(err, log.Close()) }()
	scratch, err := os.MkdirTemp("", "annals-verify-")
	if err != nil {
		return fmt.Errorf("create a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	models, err := v.Models()
	if err != nil {
		return err
	}
	dir := v.Data
	if _, err := os.Stat(filepath.Join(dir, engine.ControlFile)); errors.Is(err, fs.ErrNotExist) {
		dir = scratch // opening creates a missing control store, but verify must not change the data folder
	}
	options, closeControl, err := models.OpenControl(ctx, dir, generation.Options{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeControl()) }()
	store, err := v.ViewOriginals(ctx)
	if err != nil {
		return err
	}

	bar := terminal.Steps{Out: v.Messages}
	job := &verify.Verifier{
		Options: options, Scratch: scratch, Progress: bar.Set,
		Report: func(check verify.Check) {
			bar.End()
			printCheck(v.Out, check)
		},
		Original: func(ctx context.Context, sha256 string, size int64) error {
			return originals.Verify(ctx, store, sha256, size, !v.Quick)
		},
	}
	problems, err := job.Run(ctx)
	bar.End()
	if err == nil && problems > 0 {
		err = errors.New("verify found " + countOf("problem", problems))
	}
	return err
}

// printCheck prints the result of a check.
func printCheck(out io.Writer, c verify.Check) {
	state := "sound"
	switch {
	case c.Problems > 0:
		state = countOf("problem", c.Problems)
	case c.Counts == "":
		state = "not compared"
	}
	if c.Counts != "" {
		state += ", " + c.Counts
	}
	fmt.Fprintf(out, "%-12s %s, in %s\n", c.Name, state, c.Took.Round(time.Millisecond))
	for _, problem := range c.First {
		fmt.Fprintln(out, "  "+problem)
	}
	if more := c.Problems - len(c.First); more > 0 {
		fmt.Fprintf(out, "  and %d more\n", more)
	}
	for _, left := range c.Skipped {
		fmt.Fprintln(out, "  not compared: "+left)
	}
}
