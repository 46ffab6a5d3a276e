package readmodel

import (
	"cmp"
	"slices"
	"strings"

	"annals/events/fault"
)

// Model is a registered read model.
type Model struct {
	Projection Projection
	// NotAwaited is the reason why no reply to a write waits for the read model. It is
	// empty if replies wait, which is required if a client may read the read model right
	// after the write.
	NotAwaited string
}

var registered []Model

// Register adds a read model to those of the service. It is called from an init
// function in the file of the projection.
func Register(m Model) {
	if slices.ContainsFunc(registered, func(other Model) bool { return other.Projection.Name() == m.Projection.Name() }) {
		panic("readmodel: two read models are called " + m.Projection.Name())
	}
	registered = append(registered, m)
	slices.SortFunc(registered, func(a, b Model) int { return cmp.Compare(a.Projection.Name(), b.Projection.Name()) })
}

// All returns every read model, in the order of their names.
func All() []Model { return slices.Clone(registered) }

// Names returns the names of all read models, in order.
func Names() (names []string) {
	for _, m := range registered {
		names = append(names, m.Projection.Name())
	}
	return names
}

// Named returns the projection with a name, or an error of kind fault.NotFound.
func Named(name string) (Projection, error) {
	i := slices.IndexFunc(registered, func(m Model) bool { return m.Projection.Name() == name })
	if i < 0 {
		return nil, fault.Errorf(fault.NotFound, "no read model is called %q: there are %s", name, strings.Join(Names(), ", "))
	}
	return registered[i].Projection, nil
}
