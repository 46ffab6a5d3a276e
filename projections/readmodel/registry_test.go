package readmodel_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/projections/readmodel"
	_ "annals/projections/readmodel/passages" // registers itself
	"annals/schema"
)

func TestRegisteredModelsAreComplete(t *testing.T) {
	known := make(map[string]bool)
	for _, k := range events.Kinds() {
		known[k.Type] = true
	}
	all := readmodel.All()
	if len(all) < 7 {
		t.Fatalf("only %d read models are registered", len(all))
	}
	for _, m := range all {
		p := m.Projection
		if m.NotAwaited != "" && len(strings.Fields(m.NotAwaited)) < 5 {
			t.Errorf("%s: no reply to a write waits for it: say in NotAwaited, in a sentence, why no client reads it right after a write", p.Name())
		}
		if p.Version() < 1 || p.Oldest() < 1 || p.Oldest() > p.Version() {
			t.Errorf("%s: version %d can be read from version %d on: Oldest must be between 1 and Version", p.Name(), p.Version(), p.Oldest())
		}
		if len(p.Types()) == 0 {
			t.Errorf("%s reads no events: list them in Types", p.Name())
		}
		for _, name := range p.Types() {
			if !known[name] {
				t.Errorf("%s reads events of type %s, which is not registered: register it in its file in events, or mend Types", p.Name(), name)
			}
		}
		if _, err := schema.SQL.ReadFile("sql/" + p.Name() + ".sql"); err != nil {
			t.Errorf("%s has no tables: add schema/sql/%[1]s.sql", p.Name())
		}
	}
}

func TestEveryEventIsReadOrExempt(t *testing.T) {
	read := make(map[string][]string)
	for _, m := range readmodel.All() {
		for _, name := range m.Projection.Types() {
			read[name] = append(read[name], m.Projection.Name())
		}
	}
	for _, k := range events.Kinds() {
		if len(read[k.Type]) == 0 {
			t.Errorf("no read model reads events of type %s: add it to Types of those that it changes, and check that a new one calls Register", k.Type)
		}
		_, exempt := readmodel.NotAudited[k.Type]
		if audited := slices.Contains(read[k.Type], "audit"); audited == exempt {
			t.Errorf("events of type %s are in the audit trail: %v, and exempt from it: %v; add the type to Types of Audit, or to NotAudited with a reason", k.Type, audited, exempt)
		}
	}
	for name := range maps.Keys(readmodel.NotAudited) {
		if len(read[name]) == 0 {
			t.Errorf("NotAudited names events of type %s, which no read model reads", name)
		}
	}
}
