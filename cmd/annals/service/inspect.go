package service

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"annals/commands/importer/extract/ocr"
	"annals/commands/importer/extract/reader"
)

// InspectReaders starts a process of each kind that reads files, and prints the measures with
// which it confines itself. If a measure is missing, it returns an error. command is the hidden
// command that runs a reader process, and tesseract the path of that program, or "".
func InspectReaders(ctx context.Context, out io.Writer, command, tesseract string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of this program to start a reader process: %w", err)
	}
	recognition, missing := ocr.Find(ctx, tesseract, nil)
	files := reader.New(reader.Options{Command: []string{program, command}, OCR: reader.OCR{Program: recognition}})
	defer files.Close()
	report, err := reader.Inspect(ctx, files)
	if err != nil {
		return err
	}
	for _, measure := range report.Holds {
		fmt.Fprintln(out, "holds:", measure)
	}
	lacks := report.Lacks
	if missing != nil {
		fmt.Fprintln(out, "scanned pages are not read:", missing)
	} else {
		_, report, err := reader.InspectOCR(ctx, files)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "scanned pages are recognised with", recognition)
		for _, measure := range report.Lacks {
			lacks = append(lacks, measure+", of processes that recognise scanned pages")
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("reader processes are not fully confined: missing are %s", strings.Join(lacks, ", "))
	}
	return nil
}
