package administration

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestSentences(t *testing.T) {
	for want, m := range map[string]Model{
		"Up to date.":                                                                         {Generation: 1, Position: 9, Head: 9},
		"It is 3 positions behind.":                                                           {Generation: 1, Position: 6, Head: 9},
		"It is being built for the first time.":                                               {Head: 9},
		"It is 3 positions behind, since 5s.":                                                 {Generation: 1, Position: 6, Head: 9, Lag: 5.7},
		"! It is 3 positions behind, since 2h0m0s.":                                           {Generation: 1, Position: 6, Head: 9, Lag: 7200},
		"! 1 parked event could not be applied.":                                              {Generation: 1, Position: 9, Head: 9, Parked: 1},
		"! The last rebuild failed: full":                                                     {Generation: 1, Position: 9, Head: 9, Rebuild: &Rebuild{Error: "full"}},
		"! It cannot be read: gone! 2 parked events could not be applied.":                    {Generation: 1, Position: 9, Head: 9, Problem: "gone", Parked: 2},
		"! It has stopped, because an event cannot be applied: what?It is 1 position behind.": {Generation: 1, Position: 8, Head: 9, Stopped: "what?"},
	} {
		got := ""
		for _, s := range m.Sentences() {
			if s.Grave {
				got += "! "
			}
			got += s.Text
		}
		if got != want {
			t.Errorf("Sentences of %+v = %q, want %q", m, got, want)
		}
	}
}

func TestCharts(t *testing.T) {
	c := importsChart([]Day{{Date: "2026-11-01"}, {Date: "2026-11-02", Jobs: 1, Files: 1000, Failed: 1}, {Date: "2026-11-03", Jobs: 2, Files: 500}})
	if want := "[{11 0 8 80 false 2 November: 1000 files, 1 failed} {11 79 8 1 true 2 November: 1000 files, 1 failed} {21 40 8 40 false 3 November: 500 files}]"; fmt.Sprint(c.Bars) != want || c.Highest != 1000 || len(c.Rows) != 3 || c.Width != 30 {
		t.Errorf("chart = %+v, want the bars %s", c, want)
	}
	if c := importsChart([]Day{{Date: "2026-11-01"}}); len(c.Bars) != 0 {
		t.Errorf("chart of nothing = %+v", c)
	}
	var types []Type
	for i := range 20 {
		types = append(types, Type{fmt.Sprintf("a/%02d", i), int64(i + 1), 10})
	}
	c = kindsChart(types)
	if last := c.Rows[maxKinds-1]; len(c.Rows) != maxKinds || c.Rows[0].Name != "a/19" || last.Name != "others" || last.Numbers[0] != 13*14/2 || last.Numbers[1] != 130 {
		t.Errorf("rows = %+v", c.Rows)
	}
}

func TestReadLogKeepsFilters(t *testing.T) {
	var asked url.Values
	get := func(_ string, q url.Values, out any) error {
		asked = url.Values{"q": {q.Encode()}}
		out.(*struct {
			Events []Event
			Next   int64 `json:"next_before"`
		}).Next = 7
		return nil
	}
	l, err := ReadLog(get, "/log", url.Values{"type": {" A&B "}, "before": {"9"}, "after": {""}, "other": {"x"}})
	if err != nil || asked.Get("q") != "before=9&type=A%26B" || l.Older != "/log?before=7&type=A%26B" || l.Newest != "/log?type=A%26B" {
		t.Errorf("ReadLog asked %s: %+v, %v", asked, l, err)
	}
	broken := errors.New("broken")
	fail := func(string, url.Values, any) error { return broken }
	if _, err := ReadLog(fail, "/log", nil); !errors.Is(err, broken) {
		t.Errorf("ReadLog: %v", err)
	}
	if _, err := ReadOverview(fail, false); !errors.Is(err, broken) {
		t.Errorf("ReadOverview: %v", err)
	}
}

func TestEvents(t *testing.T) {
	e := Event{Stream: "document-1", Metadata: []byte(`{"actor":"user:a","time":"2026-11-20T10:02:41Z"}`), Data: []byte(`{"a":[1]}`)}
	if e.Who() != "user:a" || e.Time().Hour() != 10 || e.Document() != "1" || !strings.Contains(e.JSON(), "data: {\n  \"a\": [\n    1\n  ]\n}") {
		t.Errorf("event = %s at %v by %s of %s", e.JSON(), e.Time(), e.Who(), e.Document())
	}
	if e := (Event{Stream: "folders"}); e.Document() != "" || e.Who() != "" || !e.Time().IsZero() || e.JSON() == "" {
		t.Errorf("event without metadata = %s", e.JSON())
	}
}
