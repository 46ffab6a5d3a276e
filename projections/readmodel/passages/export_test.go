package passages

// Bounds of what the index receives.
const (
	IndexPassages    = indexPassages
	DeferredPassages = deferredPassages
)
