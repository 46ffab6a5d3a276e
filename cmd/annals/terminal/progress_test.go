package terminal_test

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"annals/cmd/annals/terminal"
)

// If done decreases, because files are uploaded again, the shown progress stays the
// same.
func TestProgressNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := terminal.NewProgress(&out, "files", true)
		p.Begin("importing", 0, 100)
		for _, done := range []int64{33, 66, 99, 0, 33, 66, 98, 66, 99, 20} {
			time.Sleep(1500 * time.Millisecond) // longer than the interval between two drawings
			p.Set(done, 100)
			synctest.Wait()
		}
		p.End()
		if strings.Contains(out.String(), "-") {
			t.Errorf("progress shows a negative number: %q", out.String())
		}
		for _, form := range []string{`: (\d+) of 100 files`, ` (\d+)%`} {
			before, shown := 0, 0
			for _, found := range regexp.MustCompile(form).FindAllStringSubmatch(out.String(), -1) {
				n, err := strconv.Atoi(found[1])
				if err != nil {
					t.Fatal(err)
				}
				if n < before {
					t.Errorf("%q goes back from %d to %d", form, before, n)
				}
				before, shown = n, shown+1
			}
			if before != 99 || shown < 4 {
				t.Errorf("%q ends at %d after %d times, want 99: %q", form, before, shown, out.String())
			}
		}
	})
}

func TestProgressShowsTheRecentRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := terminal.NewProgress(&out, "events", false) // prints a line every 5 seconds
		defer p.End()
		shows := func(want string) {
			t.Helper()
			synctest.Wait()
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if got := lines[len(lines)-1]; got != want {
				t.Errorf("shows %q, want %q", got, want)
			}
		}
		time.Sleep(4900 * time.Millisecond)
		p.Begin("rebuilding vault", 5000, 20_000) // an earlier call has done 5000
		p.Set(6000, 20_000)
		time.Sleep(100 * time.Millisecond)
		shows("rebuilding vault: 6000 of 20000 events") // it is too early for a rate
		for done := int64(6100); done <= 7000; done += 100 {
			time.Sleep(time.Second)
			p.Set(done, 20_000)
		}
		time.Sleep(time.Minute)
		p.Set(13_000, 20_000)
		time.Sleep(20 * time.Second)
		p.Set(15_000, 20_000) // 100/s
		time.Sleep(5 * time.Second)
		shows("rebuilding vault: 15000 of 20000 events, 80/s, 1m3s left") // without progress the rate falls
		time.Sleep(15 * time.Second)
		shows("rebuilding vault: 15000 of 20000 events, 50/s, 1m40s left")
		p.Set(20_000, 20_000)
		time.Sleep(5 * time.Second)
		shows("rebuilding vault: 20000 of 20000 events, 200/s")
	})
}

func TestProgressShowsWhatIsDone(t *testing.T) {
	for _, c := range []struct {
		bars  bool // the width of a terminal that is none is taken for 80
		doing string
		want  string
	}{
		{false, "recognising page 3 of 12 of a.pdf", "importing: 0 of 2 files; recognising page 3 of 12 of a.pdf\n"},
		{false, "", "importing: 0 of 2 files\n"},
		{false, "recognising a\x1b" + strings.Repeat("é", 100), "importing: 0 of 2 files; recognising a\uFFFD" + strings.Repeat("é", 80) + "…\n"},
		{true, "recognising page 3 of 12 of a.pdf", "importing: 0 of 2 files; recognising page 3 of 12 of a.pdf "},
		{true, "recognising page 30 of 120 of summer.pdf", "importing: 0 of 2 files; recognising page 30 of 120 of summer.p… "},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := terminal.NewProgress(&out, "files", c.bars) // shows a line every 5 seconds
			p.Begin("importing", 0, 2)
			p.Doing(c.doing)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if got := out.String(); !strings.Contains(got, c.want) {
				t.Errorf("bars %t, doing %q: shows %q, want %q", c.bars, c.doing, got, c.want)
			}
			p.End()
		})
	}
}

// On a narrow terminal, what is being done comes before the rate and the remaining time.
func TestBarLeavesOutTheRateFirst(t *testing.T) {
	for doing, want := range map[string]string{
		"reading a.md":                                            "importing: 4 of 8 files, 2.5/s, 2s left; reading a.md ",
		"reading page 3 of 9 of a.pdf":                            "importing: 4 of 8 files, 2s left; reading page 3 of 9 of a.pdf ", // 64 characters at most
		"recognising page 3 of 12 of long.pdf":                    "importing: 4 of 8 files; recognising page 3 of 12 of long.pdf ",
		"recognising page 3 of 12 of a name that is too long.pdf": "importing: 4 of 8 files; recognising page 3 of 12 of a name tha… ",
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := terminal.NewProgress(&out, "files", true)
			defer p.End()
			p.Begin("importing", 0, 8)
			p.Doing(doing)
			time.Sleep(1600 * time.Millisecond) // between two drawings
			p.Set(4, 8)
			synctest.Wait()
			if got := out.String(); !strings.Contains(got, want) {
				t.Errorf("doing %q: shows %q, want %q", doing, got, want)
			}
		})
	}
}

func TestPrintableRemovesControlCharacters(t *testing.T) {
	if got := terminal.Printable("a\x1b[2Jb\nc\u009bd\u00e9"); got != "a\uFFFD[2Jb\uFFFDc\uFFFDd\u00e9" {
		t.Errorf("Printable = %q", got)
	}
}
