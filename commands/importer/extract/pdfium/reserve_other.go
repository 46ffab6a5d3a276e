//go:build !linux

package pdfium

// reserve does nothing here, where no memory is limited but PDFium's own.
func (e *engine) reserve(int64) (untouched int64, err error) { return 0, nil }

func unmap([]byte) error { return nil }
