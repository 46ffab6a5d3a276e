//go:build !linux

package pdfium

// reserve does nothing on this system, where only PDFium's own memory is limited.
func (e *engine) reserve(int64) (untouched int64, err error) { return 0, nil }

func unmap([]byte) error { return nil }
