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

// findOCR finds the program that recognises text in pictures. If nothing was configured and there
// is none that works, scanned pages stay unread.
func (s *service) findOCR(ctx context.Context) (reader.OCR, error) {
	c := s.config.OCR
	options := reader.OCR{PageTime: c.PageTime, Time: c.Time, Logger: s.logger}
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
	if err != nil {
		if ctx.Err() != nil || c.Tesseract != "" || len(languages) > 0 {
			return options, err
		}
		const then = "restart it, and run annals reread --scanned"
		var missing ocr.Missing
		if errors.As(err, &missing) {
			options.Missing = missing.Error() + " on the server, " + then
			s.logger.Warn("scanned pages are not read: " + options.Missing)
		} else {
			options.Missing = "Tesseract fails on the server, whose log says why: repair it, " + then
			s.logger.Error("scanned pages are not read: "+options.Missing, "error", err)
		}
		return options, nil
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
