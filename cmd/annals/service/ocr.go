package service

import (
	"context"
	"errors"
	"strings"

	"annals/commands/importer/extract/ocr"
	"annals/commands/importer/extract/reader"
)

// manyLanguages is the number of languages from which on the log advises to choose some.
const manyLanguages = 5

// findOCR finds the program that recognises text in pictures. If nothing was configured and it
// is not installed, scanned pages stay unread.
func (s *service) findOCR(ctx context.Context) (reader.OCR, error) {
	c := s.config.OCR
	options := reader.OCR{PageTime: c.PageTime, Time: c.Time}
	if s.pageCache != nil { // a nil *pages.Cache would be a PageCache that keeps nothing
		options.Cache = s.pageCache
	}
	if c.Mode == OCROff {
		options.Missing = "its operator has switched that off (--ocr)"
		s.logger.Info("scanned pages are not read: --ocr is off")
		return options, nil
	}
	languages, err := ocr.ParseLanguages(c.Languages)
	if err != nil {
		return options, err
	}
	options.Program, err = ocr.Find(ctx, c.Tesseract, languages)
	var missing ocr.Missing
	switch {
	case errors.As(err, &missing) && c.Tesseract == "" && len(languages) == 0:
		options.Missing = ocr.Install + " on the server, restart it, and run annals reread --scanned"
		s.logger.Warn("scanned pages are not read: " + missing.Error() + ", restart, and run annals reread --scanned")
		return options, nil
	case err != nil:
		return options, err
	}
	if n := len(options.Program.Languages); n >= manyLanguages && len(languages) == 0 {
		s.logger.Warn("many languages of Tesseract are installed, which makes recognising slow: choose those of your scanned pages with --ocr-languages", "languages", n)
	}
	return options, nil
}

// inspectOCR logs how text in pictures is recognised.
func (s *service) inspectOCR(ctx context.Context) {
	program, report, err := reader.InspectOCR(ctx, s.reader)
	switch {
	case program == nil: // findOCR has logged why
	case err != nil:
		s.logger.Error("cannot recognise scanned pages", "error", err)
	case len(report.Lacks) > 0:
		s.logger.Warn("scanned pages are recognised, by processes that are only partly confined", "with", program.String(), "lacks", strings.Join(report.Lacks, ", "))
	default:
		s.logger.Info("scanned pages are recognised", "with", program.String())
	}
}
