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
	// Optional is set if the service has the read model only if a setting asks for it.
	// All and Names leave it out.
	Optional bool
}

var registered, optional []Model

// Register adds a read model to those of the service. It is called from an init
// function in the file of the projection.
func Register(m Model) {
	if _, err := Named(m.Projection.Name()); err == nil {
		panic("readmodel: two read models are called " + m.Projection.Name())
	}
	if m.Optional {
		optional = append(optional, m)
		return
	}
	registered = append(registered, m)
	slices.SortFunc(registered, func(a, b Model) int { return cmp.Compare(a.Projection.Name(), b.Projection.Name()) })
}

// All returns every read model that each service has, in the order of their names.
func All() []Model { return slices.Clone(registered) }

// Optional returns the read models that a service has only if a setting asks for them.
func Optional() []Model { return slices.Clone(optional) }

// Names returns the names of the read models that each service has, in order.
func Names() []string { return names(registered) }

func names(of []Model) (names []string) {
	for _, m := range of {
		names = append(names, m.Projection.Name())
	}
	return names
}

// Named returns the projection with a name, also of an optional read model, or an error of
// kind fault.NotFound.
func Named(name string) (Projection, error) {
	all := slices.Concat(registered, optional)
	i := slices.IndexFunc(all, func(m Model) bool { return m.Projection.Name() == name })
	if i < 0 {
		return nil, fault.Errorf(fault.NotFound, "no read model is called %q: there are %s", name, strings.Join(names(all), ", "))
	}
	return all[i].Projection, nil
}
