package readmodel_test

import (
	"slices"
	"testing"

	"annals/events/eventstest"
	"annals/events/memory"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	_ "annals/projections/readmodel/vectors" // registers itself
)

// counting lists the read models whose Apply is not safe to repeat, because each event
// adds to a sum. They rely on the checkpoint, which moves in the transaction that applies
// the events.
var counting = []string{"usage"}

// Applying all events of the released log a second time must not change the tables. Read
// models with a search index are tested in their own package.
func TestApplyIsIdempotent(t *testing.T) {
	driver := memory.New()
	eventstest.AppendReleased(t, driver)
	log := projectionstest.LogOver(t, driver)
	for _, registered := range slices.Concat(readmodel.All(), readmodel.Optional()) {
		p := registered.Projection
		if _, ok := p.(readmodel.Indexed); ok || slices.Contains(counting, p.Name()) {
			continue
		}
		m := projectionstest.OpenModel(t, log, p, projectionstest.Home(t, t.TempDir()))
		batch, through := m.EventsAfter(0)
		var before string
		for range 2 {
			m.ApplyEvents(batch, through)
			after := projectionstest.Dump(t, m.DB())
			if before != "" && after != before {
				t.Errorf("Apply of %s is not safe to repeat: mend it, or add %[1]s to counting; applied twice, the tables are\n%[2]s\nwant\n%[3]s", p.Name(), after, before)
			}
			before = after
		}
	}
}
