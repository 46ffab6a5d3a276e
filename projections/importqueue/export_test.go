package importqueue

// Limits and intervals that tests use.
const (
	ManyUsers    = manyUsers
	MostAside    = mostAside
	MostAsideAll = mostAsideAll
	RenewEvery   = renewEvery
)

// Counted returns how many of the messages of a user, and of all users, count in the limits, if
// the users hold and have set aside these numbers.
func Counted(owner string, held, aside map[string]int) (own, all int) {
	d := newDispatch(nil, nil)
	d.held, d.aside = held, aside
	for _, n := range held {
		d.total += n
	}
	return d.counted(owner), d.countedAll()
}
