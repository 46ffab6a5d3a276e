package service

import (
	"log/slog"
	"testing"

	"annals/commands/importer/pages"
)

// Without a cache of pages, files are not hashed to find what was recognised in them.
func TestRecognitionWithoutCache(t *testing.T) {
	s := &service{config: &Config{}, logger: slog.New(slog.DiscardHandler)}
	s.config.OCR.Mode = OCROff
	for _, limit := range []int64{0, 1 << 20} {
		var err error
		if s.pageCache, err = pages.OpenCache(t.TempDir(), limit); err != nil {
			t.Fatal(err)
		}
		if options, err := s.findOCR(t.Context()); err != nil || (options.Cache != nil) != (limit > 0) {
			t.Errorf("--page-cache-bytes %d: the cache is %v, %v", limit, options.Cache, err)
		}
	}
}
