package folderimport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"annals/cmd/annals/terminal"
	"annals/events"
)

// Summary is the result of an import, as --json prints it.
type Summary struct {
	Server     string          `json:"server"`
	Dir        string          `json:"dir"`
	Folder     string          `json:"folder"`
	Files      int             `json:"files"`
	Imported   int             `json:"imported"`
	Duplicates int             `json:"duplicates"`
	Skipped    int             `json:"skipped"` // files not uploaded, because the server already has them
	Created    int             `json:"created"`
	Updated    int             `json:"updated"`
	Unchanged  int             `json:"unchanged"` // files, uploaded or not, that the server already had
	Kept       int             `json:"kept"`      // documents left as they are, because they were changed on the server and their files were not
	Renamed    int             `json:"renamed"`
	Removed    int             `json:"removed"`
	Failed     int             `json:"failed"`
	Left       int             `json:"left"` // files that were not tried, because the import stopped early
	PassedOver PassedOver      `json:"passed_over"`
	Failures   []Failure       `json:"failures"`
	Warned     []Warned        `json:"warned,omitempty"`
	State      string          `json:"state"`
	DryRun     bool            `json:"dry_run,omitempty"` // true if nothing was done: the counts are those of Changes
	Changes    []PlannedChange `json:"changes,omitempty"`
}

// Failure is a file that was not imported, or a document that was not removed.
type Failure struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Warned is a file that was imported with warnings, for example because a part of it could not be read.
type Warned struct {
	File     string   `json:"file"`
	Warnings []string `json:"warnings"`
}

// PlannedChange is a change that an import would make.
type PlannedChange struct {
	Action   string `json:"action"` // create, update, tag, rename, remove or keep
	File     string `json:"file,omitempty"`
	Document string `json:"document,omitempty"` // path on the server; set if the change is to an existing document with another path, or without a file
	Note     string `json:"note,omitempty"`
}

// String describes the change in one line.
func (p PlannedChange) String() string {
	switch {
	case p.Note != "":
		return fmt.Sprintf("%-6s  %s (%s)", p.Action, terminal.Printable(p.Document), terminal.Printable(p.Note))
	case p.File == "":
		return fmt.Sprintf("%-6s  %s", p.Action, terminal.Printable(p.Document))
	case p.Document != "":
		return fmt.Sprintf("%-6s  %s -> %s", p.Action, terminal.Printable(p.Document), terminal.Printable(p.File))
	}
	return fmt.Sprintf("%-6s  %s", p.Action, terminal.Printable(p.File))
}

func (s *Summary) count(o outcome) {
	switch {
	case o.Error != "":
		s.fail(Failure{o.Path, o.Error})
		return
	case o.Outcome == outcomeRenamed:
		s.Renamed++
		return
	case o.Duplicate:
		s.Duplicates++
	default:
		s.Imported++
	}
	if len(o.Warnings) > 0 {
		s.Warned = append(s.Warned, Warned{o.Path, o.Warnings})
	}
	switch {
	case o.Outcome == events.OutcomeUpdated:
		s.Updated++
	case o.Outcome == events.OutcomeUnchanged, o.Outcome == "" && o.Duplicate: // servers of older versions send no outcome
		s.Unchanged++
	default:
		s.Created++
	}
}

func (s *Summary) fail(f Failure) {
	s.Failed++
	s.Failures = append(s.Failures, f)
}

func (s *Summary) print(out io.Writer, asJSON, quiet bool) error {
	slices.SortFunc(s.Failures, func(a, b Failure) int { return cmp.Compare(a.File, b.File) })
	slices.SortFunc(s.Warned, func(a, b Warned) int { return cmp.Compare(a.File, b.File) })
	if asJSON {
		if s.Failures == nil {
			s.Failures = []Failure{}
		}
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return err
		}
		_, err = out.Write(append(text, '\n'))
		return err
	}
	if !quiet {
		would := ""
		if s.DryRun {
			for _, c := range s.Changes {
				fmt.Fprintln(out, c)
			}
			would = "would be "
		}
		fmt.Fprintf(out, "into %s: %s%d created, %d updated, %d unchanged, %d renamed, %d removed, %d failed", terminal.Printable(s.Folder), would, s.Created, s.Updated, s.Unchanged, s.Renamed, s.Removed, s.Failed)
		if s.Kept > 0 {
			fmt.Fprintf(out, ", %d kept that were changed on the server", s.Kept)
		}
		if s.Left > 0 {
			fmt.Fprintf(out, ", %d left", s.Left)
		}
		fmt.Fprintln(out)
		if err := s.printWarned(out); err != nil {
			return err
		}
	}
	if len(s.Failures) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nFILE\tREASON")
	for _, f := range s.Failures {
		fmt.Fprintf(table, "%s\t%s\n", terminal.Printable(f.File), terminal.Printable(f.Reason))
	}
	return table.Flush()
}

// Limits of the warnings that are printed. --json prints all.
const (
	maxShown = 20 // different warnings
	maxNamed = 5  // files with the same warning
)

// printWarned prints each warning with the files that have it.
func (s *Summary) printWarned(out io.Writer) error {
	if len(s.Warned) == 0 {
		return nil
	}
	files := "1 file was"
	if n := len(s.Warned); n > 1 {
		files = fmt.Sprintf("%d files were", n)
	}
	fmt.Fprintf(out, "\n%s imported with warnings:\n\n", files)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FILE\tWARNING")
	warnings, byWarning := s.filesByWarning()
	for _, w := range warnings[:min(len(warnings), maxShown)] {
		for i, file := range byWarning[w] {
			text := w
			if i > 0 {
				text = "(the same)"
			}
			if i == maxNamed && len(byWarning[w]) > maxNamed+1 {
				fmt.Fprintf(table, "%d more files\t(the same; --json names all files)\n", len(byWarning[w])-maxNamed)
				break
			}
			fmt.Fprintf(table, "%s\t%s\n", terminal.Printable(file), terminal.Printable(text))
		}
	}
	if len(warnings) > maxShown {
		fmt.Fprintf(table, "...\tonly the first %d different warnings are listed; --json prints all\n", maxShown)
	}
	return table.Flush()
}

// filesByWarning returns the different warnings in the order of the files, and the files that have each.
func (s *Summary) filesByWarning() (warnings []string, files map[string][]string) {
	files = map[string][]string{}
	for _, f := range s.Warned {
		for _, w := range f.Warnings {
			if files[w] == nil {
				warnings = append(warnings, w)
			}
			if n := len(files[w]); n == 0 || files[w][n-1] != f.File {
				files[w] = append(files[w], f.File)
			}
		}
	}
	return warnings, files
}
