package readmodel_test

import (
	"slices"
	"testing"

	"annals/events/eventstest"
	"annals/events/memory"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
)

// counting are the read models with sums that each event raises. They rely on the
// checkpoint, which is stored in the transaction that applies the events.
var counting = []string{"usage"}

// Each read model folds the released log, and then receives all of it again. Those with a
// search index also need their index, so their package tests them.
func TestApplyIsIdempotent(t *testing.T) {
	driver := memory.New()
	eventstest.AppendReleased(t, driver)
	log := projectionstest.LogOver(t, driver)
	for _, registered := range readmodel.All() {
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
