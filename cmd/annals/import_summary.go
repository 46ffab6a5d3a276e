package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
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
	Skipped    int       `json:"skipped"` // finished by an earlier run
	Failed     int       `json:"failed"`
	Left       int       `json:"left"` // where it stopped early
	PassedOver passed    `json:"passed_over"`
	Failures   []failure `json:"failures"`
	State      string    `json:"state"`
}

func (s *importSummary) count(o fileOutcome) {
	switch {
	case o.Error != "":
		s.fail(failure{o.Path, o.Error})
	case o.Duplicate:
		s.Duplicates++
	default:
		s.Imported++
	}
}

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
		fmt.Fprintf(out, "into %s: %d imported, %d known already, %d skipped (imported earlier), %d failed", printable(s.Folder), s.Imported, s.Duplicates, s.Skipped, s.Failed)
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
