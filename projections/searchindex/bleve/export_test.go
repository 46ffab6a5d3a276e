package bleve

// Index is a search index in a folder.
type Index = engine

var (
	Open         = openIndex
	OpenReadOnly = openReadOnly
)
