package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"annals/events"
)

// failure is a file that was not imported.
type failure struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// importSummary is how an import ended; --json prints it.
type importSummary struct {
	Server     string    `json:"server"`
	Dir        string    `json:"dir"`
	Folder     string    `json:"folder"`
	Files      int       `json:"files"`
	Imported   int       `json:"imported"`
	Duplicates int       `json:"duplicates"`
	Skipped    int       `json:"skipped"` // not sent, since they are there
	Created    int       `json:"created"`
	Updated    int       `json:"updated"`
	Unchanged  int       `json:"unchanged"` // sent or not
	Kept       int       `json:"kept"`      // documents that were changed at the server, and whose files were not
	Renamed    int       `json:"renamed"`
	Removed    int       `json:"removed"`
	Failed     int       `json:"failed"`
	Left       int       `json:"left"` // where it stopped early
	PassedOver passed    `json:"passed_over"`
	Failures   []failure `json:"failures"`
	State      string    `json:"state"`
	DryRun     bool      `json:"dry_run,omitempty"` // what would be done is counted, and stands in Changes
	Changes    []planned `json:"changes,omitempty"`
}

func (s *importSummary) count(o fileOutcome) {
	switch {
	case o.Error != "":
		s.fail(failure{o.Path, o.Error})
		return
	case o.Outcome == outcomeRenamed:
		s.Renamed++
		return
	case o.Duplicate:
		s.Duplicates++
	default:
		s.Imported++
	}
	switch {
	case o.Outcome == events.OutcomeUpdated:
		s.Updated++
	case o.Outcome == events.OutcomeUnchanged, o.Outcome == "" && o.Duplicate: // "": by an older server
		s.Unchanged++
	default:
		s.Created++
	}
}

// outcomeRenamed is that of a file whose document got its path.
const outcomeRenamed = "renamed"

func (s *importSummary) fail(f failure) {
	s.Failed++
	s.Failures = append(s.Failures, f)
}

func (s *importSummary) print(out io.Writer, asJSON, quiet bool) error {
	slices.SortFunc(s.Failures, func(a, b failure) int { return strings.Compare(a.File, b.File) })
	if asJSON {
		if s.Failures == nil {
			s.Failures = []failure{}
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
		fmt.Fprintf(out, "into %s: %s%d created, %d updated, %d unchanged, %d renamed, %d removed, %d failed", printable(s.Folder), would, s.Created, s.Updated, s.Unchanged, s.Renamed, s.Removed, s.Failed)
		if s.Kept > 0 {
			fmt.Fprintf(out, ", %d kept that were changed at the server", s.Kept)
		}
		if s.Left > 0 {
			fmt.Fprintf(out, ", %d left", s.Left)
		}
		fmt.Fprintln(out)
	}
	if len(s.Failures) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nFILE\tREASON")
	for _, f := range s.Failures {
		fmt.Fprintf(table, "%s\t%s\n", printable(f.File), printable(f.Reason))
	}
	return table.Flush()
}

// printable keeps a text from moving the cursor or breaking the table.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, s)
}
