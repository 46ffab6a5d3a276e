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
	"annals/events/fault"
	"annals/events/originals"
	"annals/projections"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"

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
	flags.StringVar(&c.readModels, "read-models", "", "URL of the read models, sqlite:///folder (default: in the data folder)")
	flags.StringVar(&c.search, "search", "", "URL of the search index, bleve:///folder (default: in the data folder)")
	flags.StringVar(&c.originals, "originals", "", "URL of the uploaded files, file:///folder or s3://bucket/prefix (default: in the data folder)")
	return command
}

func verify(ctx context.Context, c *verifyConfig, out, progress io.Writer) (err error) {
	driver, err := openLog(ctx, c.log, c.data, mustExist)
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
	control, err := openControlThere(ctx, c.data, scratch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, control.Close()) }()

	v := &projections.Verification{Log: log, Control: control, Scratch: scratch}
	if err := c.places(ctx, v); err != nil {
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

// openControlThere opens control.db of a data folder; where it was lost, an
// empty one elsewhere, so that the folder stays as it is.
func openControlThere(ctx context.Context, data, scratch string) (*projections.Control, error) {
	path := filepath.Join(data, "control.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(scratch, "control.db")
	}
	return projections.OpenControl(ctx, path)
}

// places tells v where everything is.
func (c *verifyConfig) places(ctx context.Context, v *projections.Verification) error {
	folders, err := newModelFolders(c.readModels, c.search, c.data)
	if err != nil {
		return err
	}
	v.Tables = projections.Folder(folders.tables)
	v.NewSearch = func(_ context.Context, dir string) (searchindex.Engine, error) {
		return bleve.Open(filepath.Join(dir, "index"))
	}
	v.ServedSearch = func(_ context.Context, generation string) (searchindex.Engine, error) {
		return openServedSearch(folders.search, generation)
	}
	store, err := openOriginalsThere(ctx, c.originals, c.data)
	if err != nil {
		return err
	}
	v.Original = func(ctx context.Context, sha256 string, size int64) error {
		return originals.Verify(ctx, store, sha256, size, !c.quick)
	}
	return nil
}

// openServedSearch opens a search index for reading. No server may start on it
// meanwhile: it would take an index that it cannot open for a damaged one.
func openServedSearch(dir, generation string) (searchindex.Engine, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err // to lock it would make it
	}
	unlock, err := hold("the folder of the search index", dir, "search.lock")
	if err != nil {
		return nil, fault.Hide(fault.Unavailable, "a server has it open and alone can read it; stop it to compare the index", err)
	}
	index, err := bleve.OpenReadOnly(filepath.Join(dir, generation))
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return heldSearch{index, unlock}, nil
}

// heldSearch is an index whose folder is held until it is closed.
type heldSearch struct {
	*bleve.Index
	unlock func() error
}

func (h heldSearch) Close() error { return errors.Join(h.Index.Close(), h.unlock()) }

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
