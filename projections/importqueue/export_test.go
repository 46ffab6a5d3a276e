package importqueue

// Constants that tests wait for or count up to.
const (
	ManyUsers  = manyUsers
	RenewEvery = renewEvery
)
