package csv_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

func TestTables(t *testing.T) {
	const want = "| a | b |\n| --- | --- |\n| 1 | two, 2 |\n| 3 |"
	for name, c := range map[string]struct{ file, content, want string }{
		"commas":     {"a.csv", "a,b\n1,\"two, 2\"\n3\n", want},
		"semicolons": {"a.csv", "a;b\r\n1;two, 2\r\n3;\r\n", want},
		"tabs":       {"a.tsv", "a\tb\n1\ttwo, 2\n3\n", want},
		"bars":       {"a.csv", "a|b\n1|two, 2\n3\n", want},
		"named":      {"a.csv", "sep=;\na;b\n1;two, 2\n3\n", want},
		"UTF-16":     {"a.csv", "\xff\xfea\x00,\x00b\x00\n\x001\x00,\x002\x00", "| a | b |\n| --- | --- |\n| 1 | 2 |"},
		"latin":      {"a.csv", "Stra\xdfe;Gr\xf6\xdfe\nM\xfcnchner Stra\xdfe;1\n", "| Straße | Größe |\n| --- | --- |\n| Münchner Straße | 1 |"},
		"lines":      {"a.csv", "a,b\n\"x\ny\",z|w\n", "| a | b |\n| --- | --- |\n| x y | z\\|w |"},
		"preamble":   {"a.csv", "Report of 2026\n\na,b\n1,2\n", "Report of 2026\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"},
		"one column": {"a.csv", "name\nann\nbob\n", "name\n\nann\n\nbob"},
		"head only":  {"a.csv", "a,b\n", "| a | b |\n| --- | --- |"},
		"spaces":     {"a.csv", "a, b\n1, \"two, 2\" \n3\n", want},
		"line ends":  {"a.csv", "a,b\r1,\"two,\r2\"\r3\r", want},
		"doubled":    {"a.csv", "a,b\n\"\"\"1\"\" \"\"2\"\"\",\"\"\n", "| a | b |\n| --- | --- |\n| \"1\" \"2\" |"},
		"lone":       {"a.csv", "a,b\n\"say \"hi\" now\",x\n", "| a | b |\n| --- | --- |\n| say \"hi\" now | x |"},
		"long head":  {"a.csv", "a,b" + strings.Repeat(" ", 70<<10) + "\n1,\"two, 2\"\n3\n", want},
		"quotes":     {"a.csv", "a,b\nsay \"hi\",x\n", "| a | b |\n| --- | --- |\n| say \"hi\" | x |"},
	} {
		got, info, err := extracttest.Read(t, c.file, []byte(c.content))
		if err != nil || len(got) != 1 || got[0].Text != c.want || info.Title != "a" {
			t.Errorf("%s: %+v, %+v, %v, want %q", name, got, info, err, c.want)
		}
	}
}

// A quotation mark that is not closed is part of its cell: the rows below are no part of it.
func TestUnclosedQuotes(t *testing.T) {
	for content, want := range map[string]string{
		"a,b\n1,\"two\n3,four\n5,\"six, 6\"\n":       "| 1 | \"two |\n| 3 | four |\n| 5 | six, 6 |",
		"a,b\n1,two\n\"3,four\n":                     "| 1 | two |\n| \"3 | four |",
		"a,b\n\"1, 1\",\"two\n3,\"four\n\"5\",six\n": "| 1, 1 | \"two |\n| 3 | \"four |\n| 5 | six |",
	} {
		got, info, err := extracttest.Read(t, "a.csv", []byte(content))
		if err != nil || len(got) != 1 || got[0].Text != "| a | b |\n| --- | --- |\n"+want {
			t.Errorf("%q: %+v, %v, want %q", content, got, err, want)
		}
		if len(info.Warnings) != 1 || !strings.Contains(info.Warnings[0], "not closed, or only after more than 1024 KiB, the first one in row") {
			t.Errorf("%q: warnings %q", content, info.Warnings)
		}
	}
}

func TestSectionsRepeatTheHead(t *testing.T) {
	var file strings.Builder
	file.WriteString("number,name\n")
	for i := range 250 {
		fmt.Fprintf(&file, "%d,row number %d\n", i+1, i+1)
	}
	got, info, err := extracttest.Read(t, "a.csv", []byte(file.String()))
	if err != nil || info.Sections != 3 || info.MediaType != extract.CSV {
		t.Fatalf("%+v, %v", info, err)
	}
	for i, title := range []string{"Rows 1 to 100", "Rows 101 to 200", "Rows 201 to 250"} {
		if s := got[i]; s.Title != title || !strings.HasPrefix(s.Text, fmt.Sprintf("| number | name |\n| --- | --- |\n| %d | row", 100*i+1)) {
			t.Errorf("section %d: %s, %.80q", i, s.Title, s.Text)
		}
	}
}

// Sections of long rows have fewer rows, so that a section does not take much memory.
func TestSectionsOfLongRows(t *testing.T) {
	got, _, err := extracttest.Read(t, "a.csv", []byte("name,text\n1,2\n"+strings.Repeat("a,"+strings.Repeat("b", 600<<10)+"\n", 11)))
	var titles []string
	for _, s := range got {
		if s.Part == 0 {
			titles = append(titles, s.Title)
		}
	}
	if want := []string{"Rows 1 to 8", "Rows 9 to 12"}; err != nil || !slices.Equal(titles, want) {
		t.Errorf("sections %q, %v, want %q", titles, err, want)
	}
}

func TestHostileTablesAreReadInTime(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"open quote":  {"a,b\n\"" + strings.Repeat("x,y\n", 1_000_000), ""},
		"open quotes": {"a,b\n" + strings.Repeat("\"\"x,y\n", 1_000_000), ""},
		"one line":    {strings.Repeat("a,", 3_000_000), "longer than 1024 KiB"},
		"columns":     {strings.Repeat(strings.Repeat("a,", 100_000)+"\n", 20), ""},
		"rows":        {strings.Repeat("a,b\n", 2_000_000), ""},
		"empty":       {strings.Repeat(",\n", 2_000_000), ""},
		"quotes":      {strings.Repeat("\"\"\"\",\n", 500_000), ""},
	} {
		begun := time.Now()
		var err error
		if peak := extracttest.PeakHeap(func() { _, _, err = extracttest.Read(t, "a.csv", []byte(c.content)) }); peak > 100<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, peak>>20)
		}
		if took := time.Since(begun); took > time.Minute || c.want == "" && err != nil || c.want != "" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v after %s, want %q", name, err, took, c.want)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,b\n1,\"x\n\"\"y\"\n"))
	f.Add([]byte("sep=\t\na\tb\n\n1\t2\n"))
	f.Add([]byte("title\n\na;b;c\n1;;3;4\n;\n"))
	r, path := extracttest.FuzzReader(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		got, info, err := extracttest.ReadBy(t, r, path, "a.csv", content)
		extracttest.CheckSections(t, got, info, err)
	})
}
