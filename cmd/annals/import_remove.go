package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"annals/cmd/annals/mirror"
)

// checkDelete returns an error if nobody could be asked, or where documents can have
// no file.
func (c *importConfig) checkDelete(cmd *cobra.Command, name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case !c.replace:
		return errors.New("--delete goes with --replace alone")
	case !info.IsDir():
		return fmt.Errorf("--delete needs a folder to compare with, and %s is a file", name)
	case !c.yes && !c.dryRun && !asksPeople(cmd):
		return errors.New("--delete asks before it removes anything, and there is no terminal: look at what it would remove by --dry-run, and pass --yes")
	}
	return nil
}

func asksPeople(cmd *cobra.Command) bool {
	in, ok := cmd.InOrStdin().(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && isTerminal(cmd.ErrOrStderr())
}

// confirmRemoval shows what is to be removed and asks.
func confirmRemoval(cmd *cobra.Command, removed []planned) error {
	const most = 50
	out := cmd.ErrOrStderr()
	for _, p := range removed[:min(len(removed), most)] {
		fmt.Fprintln(out, p)
	}
	if more := len(removed) - most; more > 0 {
		fmt.Fprintf(out, "and %d more; --dry-run lists them all\n", more)
	}
	what := "this document"
	if n := len(removed); n > 1 {
		what = fmt.Sprintf("these %d documents", n)
	}
	fmt.Fprintf(out, "Remove %s? [y/N] ", what)
	var reply string
	_, _ = fmt.Fscanln(cmd.InOrStdin(), &reply)
	if reply = strings.ToLower(reply); reply != "y" && reply != "yes" {
		return errors.New("nothing was changed: leave out --delete to import without removing anything")
	}
	return nil
}

// checkRemoval returns an error where a folder that is not mounted, or another one,
// would empty that of the service.
func (f *folderImport) checkRemoval(m *comparison) error {
	left := slices.ContainsFunc(m.changes, func(c mirror.Change) bool { return c.Document.ID != "" })
	if len(m.removed) == 0 || f.force || left {
		return nil
	}
	return fmt.Errorf("none of the %d documents in %s has a file in %s, and --delete would remove all of them: is it the right folder, and mounted? --force removes them",
		len(m.removed), printable(f.top), f.tree.dir)
}

// remove removes the documents that have no file, once everything else went well.
func (f *folderImport) remove(ctx context.Context, m *comparison) error {
	if m == nil || len(m.removed) == 0 {
		return nil
	}
	if f.summary.Failed > 0 || f.summary.Left > 0 {
		f.meter.say(fmt.Sprintf("nothing was removed, since files failed; %d documents are left that have no file", len(m.removed)))
		return nil
	}
	current := f.imported() // by now
	for _, c := range m.removed {
		if current[c.Document.ID] {
			continue
		}
		there, err := f.isInPlace(ctx, m, dirOf(c.Document.Path))
		if err == nil && !there {
			f.summary.fail(failure{c.Document.Path, "not removed: its folder was moved or removed meanwhile"})
			continue
		}
		if err == nil {
			err = f.vault.deleteDocument(ctx, c.Document)
		}
		switch {
		case isRefusal(err, http.StatusConflict, http.StatusForbidden):
			f.summary.fail(failure{c.Document.Path, "not removed: " + err.Error()})
		case err != nil:
			return fmt.Errorf("remove document %s: %w", printable(c.Document.Path), err)
		default:
			f.summary.Removed++
		}
	}
	return nil
}
