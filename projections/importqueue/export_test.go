package importqueue

// Limits and intervals that tests use.
const (
	ManyUsers  = manyUsers
	RenewEvery = renewEvery
)
