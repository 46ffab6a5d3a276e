package service

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
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

// A server starts without Tesseract, and with one that does not work, unless it was asked for it.
func TestServerStartsWithoutRecognition(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are scripts")
	}
	for script, want := range map[string]string{
		"":                     "Tesseract is not installed: install Tesseract (apt-get install tesseract-ocr) on the server, restart it, and run annals reread --scanned",
		"echo tesseract 4.1.1": "Tesseract 4.1.1 is too old: install version 5 or later on the server, restart it, and run annals reread --scanned",
		"exit 3":               "Tesseract fails on the server, whose log says why: repair it, restart it, and run annals reread --scanned",
	} {
		dir := t.TempDir()
		if script != "" {
			if err := os.WriteFile(filepath.Join(dir, "tesseract"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", dir)
		s := &service{config: &Config{}, logger: slog.New(slog.DiscardHandler)}
		s.config.OCR.Mode = OCROn
		if options, err := s.findOCR(t.Context()); err != nil || options.Program != nil || options.Missing != want {
			t.Errorf("with %q: %q, %v, want %q", script, options.Missing, err, want)
		}
		s.config.OCR.Languages = "eng"
		if _, err := s.findOCR(t.Context()); err == nil {
			t.Errorf("with %q and --ocr-languages: no error", script)
		}
	}
}
