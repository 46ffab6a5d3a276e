package reader

import "annals/commands/importer/extract"

// Idle returns the number of idle processes for files other than PDFs.
func Idle(r extract.Reader) int { return r.(*pooled).text.Idle() }
