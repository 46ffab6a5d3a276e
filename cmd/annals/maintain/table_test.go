package maintain

import (
	"strings"
	"testing"
)

func TestRowShowsAllGenerations(t *testing.T) {
	for want, l := range map[string]projectionLine{
		"vault|3|2|50|100|50|1.5s|10/s|4|-":                                  {Version: 3, Generation: 2, Position: 50, LagEvents: 50, LagSeconds: 1.5, Rate: 10, Parked: 4},
		"vault|2, not 3|2|100|100|0|0s|0/s|0|3 filling at 40 of 100, 2000/s": {Version: 2, Generation: 2, Position: 100, Others: []otherLine{{3, 3, "filling", 40, 2000}}},
		"vault|3|4|100|100|0|0s|0/s|0|5 ready; 3 kept, of version 2":         {Version: 3, Generation: 4, Position: 100, Others: []otherLine{{5, 3, "ready", 100, 0}, {3, 2, "kept", 90, 0}}},
		"vault|3|0|-|100|-|-|-|-|none is active yet":                         {},
		"vault|3|4|-|100|-|-|-|-|3 kept; it cannot be opened":                {Version: 3, Generation: 4, Problem: "it cannot be opened", Others: []otherLine{{3, 3, "kept", 0, 0}}},
	} {
		l.Name, l.Makes, l.Head = "vault", 3, 100
		if got := strings.ReplaceAll(l.row(false), "\t", "|"); got != want {
			t.Errorf("%+v is shown as %s, want %s", l, got, want)
		}
	}
	for want, l := range map[string]projectionLine{
		"vault|3|2|100|100|0|0s|0/s|0|one/1a2b3c4d|3 ready":    {Leader: "one/1a2b3c4d", Others: []otherLine{{3, 3, "ready", 100, 0}}},
		"vault|3|2|100|100|0|0s|0/s|0|one/1a2b3c4d (silent)|-": {Leader: "one/1a2b3c4d", Silent: true},
		"vault|3|2|100|100|0|0s|0/s|0|-|-":                     {},
		"vault|3|2|-|100|-|-|-|-|one/1a2b3c4d|it is damaged":   {Leader: "one/1a2b3c4d", Problem: "it is damaged"},
	} {
		l.Name, l.Version, l.Makes, l.Generation, l.Position, l.Head = "vault", 3, 3, 2, 100, 100
		if got := strings.ReplaceAll(l.row(true), "\t", "|"); got != want {
			t.Errorf("%+v, shared, is shown as %s, want %s", l, got, want)
		}
	}
}
