package reader

import "annals/commands/importer/extract"

// Idle returns how many processes of r wait for a file other than a PDF.
func Idle(r extract.Reader) int { return r.(*pooled).text.Idle() }
