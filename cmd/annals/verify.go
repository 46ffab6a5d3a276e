package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"annals/events"
	"annals/events/originals"
	"annals/projections"

	"github.com/spf13/cobra"
)

// verifyConfig is what verify can be told.
type verifyConfig struct {
	data                               string
	log, readModels, search, originals string
	quick                              bool
}

func verifyCommand(dataDir func() string) *cobra.Command {
	c := new(verifyConfig)
	command := &cobra.Command{
		Use:   "verify",
		Short: "Prove the log, and what was made from it",
		Long: "Prove the log: revisions without a gap, positions that rise, every payload valid, every text and original that\n" +
			"documents name there. Then make every read model anew from it, in a temporary folder (TMPDIR says where), and\n" +
			"compare it with the one that serves, row by row, and the search index by its passages and a sample of searches.\n\n" +
			"It works beside a running server, which alone can read its search index: that is compared without one, and\n" +
			"none can start in that moment. Nothing is changed. What differs is named, and the exit status is not 0 then.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.data = dataDir()
			return verify(cmd.Context(), c, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&c.quick, "quick", false, "do not read the originals; look only whether they are there, in their size")
	flags.StringVar(&c.log, "log", "", logHelp)
	flags.StringVar(&c.readModels, "read-models", "", "URL of the read models, sqlite:///folder or postgres://host/database (default: in the data folder)")
	flags.StringVar(&c.search, "search", "", "URL of the search index, "+searchForms+" (default: in the data folder)")
	flags.StringVar(&c.originals, "originals", "", "URL of the uploaded files, file:///folder or s3://bucket/prefix (default: in the data folder)")
	return command
}

func verify(ctx context.Context, c *verifyConfig, out, progress io.Writer) (err error) {
	driver, err := openLog(ctx, logFlag, c.log, c.data, mustExist)
	if err != nil {
		return err
	}
	log := events.NewLog(driver)
	defer func() { err = errors.Join(err, log.Close()) }()
	scratch, err := os.MkdirTemp("", "annals-verify-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	folders, err := newModelFolders(c.readModels, c.search, c.data)
	if err != nil {
		return err
	}
	options, closeControls, err := folders.openControls(ctx, c.controls(scratch), projections.Options{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeControls()) }()

	v := &projections.Verification{Options: options, Scratch: scratch}
	if err := c.places(ctx, v, folders); err != nil {
		return err
	}
	bar := newCheckBar(progress)
	v.Progress = bar.at
	v.Tell = func(check projections.Check) {
		bar.end()
		tellCheck(out, check)
	}
	problems, err := v.Run(ctx)
	bar.end()
	if err == nil && problems > 0 {
		err = errors.New("verify finds " + countProblems(problems))
	}
	return err
}

// controls returns the folder with control.db: that of the data, or, where it
// was lost, scratch, so that the other stays as it is.
func (c *verifyConfig) controls(scratch string) string {
	if _, err := os.Stat(filepath.Join(c.data, "control.db")); errors.Is(err, fs.ErrNotExist) {
		return scratch
	}
	return c.data
}

// places tells v where everything is.
func (c *verifyConfig) places(ctx context.Context, v *projections.Verification, folders modelFolders) error {
	v.NewSearch, v.ServedSearch = folders.search.openScratch, folders.search.openServed
	store, err := openOriginalsThere(ctx, c.originals, c.data)
	if err != nil {
		return err
	}
	v.Original = func(ctx context.Context, sha256 string, size int64) error {
		return originals.Verify(ctx, store, sha256, size, !c.quick)
	}
	return nil
}

// tellCheck prints what a check found.
func tellCheck(out io.Writer, c projections.Check) {
	state := "sound"
	switch {
	case c.Problems > 0:
		state = countProblems(c.Problems)
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
	for _, left := range c.Left {
		fmt.Fprintln(out, "  not compared: "+left)
	}
}

func countProblems(n int) string {
	if n == 1 {
		return "1 problem"
	}
	return fmt.Sprintf("%d problems", n)
}
