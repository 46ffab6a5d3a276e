package bm25

// Constants that tests compare results with.
const (
	MoreShare   = moreShare
	RankedTerms = rankedTerms
)
