package reader

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"annals/commands/importer/extract"
	"annals/events/fault"
)

// check refuses empty files, and files whose content clearly does not fit the extension of
// their name. Such a file is not read as the type that its content has, because it would be
// downloaded later with the media type of its extension.
func check(file *os.File, name, mediaType string) (extract.File, error) {
	stat, err := file.Stat()
	if err != nil {
		return extract.File{}, fmt.Errorf("get the size of %s: %w", name, err)
	}
	if stat.Size() == 0 {
		return extract.File{}, fault.Errorf(fault.Invalid, "the file is empty")
	}
	head := make([]byte, 512)
	n, err := file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return extract.File{}, fmt.Errorf("read %s: %w", name, err)
	}
	format := formatOf(head[:n])
	switch {
	case format == "" || format == formatNames[mediaType]:
		return extract.File{ReaderAt: file, Size: stat.Size(), Name: name}, nil
	case format == oldOffice && officeNames[mediaType] != "":
		return extract.File{}, fault.Errorf(fault.Invalid, "the file is an old %s or has a password: save it as %s without a password", officeNames[mediaType], extract.Extension(name))
	default:
		return extract.File{}, fault.Errorf(fault.Invalid, "the file is named %s but is %s: rename it, or upload another file", extract.Extension(name), format)
	}
}

// oldOffice is the format of files from before Office Open XML, and of files with a password.
const oldOffice = "an old Office document, or one with a password"

// officeNames are the names of the formats that have such a predecessor.
var officeNames = map[string]string{
	extract.Word:       "Word document",
	extract.PowerPoint: "PowerPoint presentation",
	extract.Excel:      "Excel workbook",
}

// formatNames are the names that formatOf returns for the formats that can be read.
var formatNames = map[string]string{
	extract.PDF:          "a PDF",
	extract.Word:         "a ZIP archive or Office document",
	extract.PowerPoint:   "a ZIP archive or Office document",
	extract.Excel:        "a ZIP archive or Office document",
	extract.OpenDocument: "a ZIP archive or Office document",
	extract.EPUB:         "a ZIP archive or Office document",
	extract.RTF:          "a Rich Text document",
	extract.PNG:          "a PNG image",
	extract.JPEG:         "a JPEG image",
	extract.TIFF:         "a TIFF image",
	extract.WebP:         "a WebP image",
	extract.BMP:          "a BMP image",
}

// formatOf returns the name of a file's format, recognised by its first bytes, or "".
func formatOf(head []byte) string {
	for _, f := range []struct{ magic, name string }{
		{"%PDF-", "a PDF"},
		{"PK\x03\x04", "a ZIP archive or Office document"},
		{"PK\x05\x06", "a ZIP archive or Office document"},
		{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", oldOffice},
		{"{\\rtf", "a Rich Text document"},
		{"\x89PNG\r\n\x1a\n", "a PNG image"},
		{"\xff\xd8\xff", "a JPEG image"},
		{"II*\x00", "a TIFF image"},
		{"MM\x00*", "a TIFF image"},
		{"GIF87a", "a GIF image"},
		{"GIF89a", "a GIF image"},
		{"\x1f\x8b\x08", "a gzip archive"},
		{"\x28\xb5\x2f\xfd", "a Zstandard archive"},
		{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
		{"\x7fELF", "a program"},
		{"SQLite format 3\x00", "an SQLite database"},
	} {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.name
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("RIFF")) && len(head) >= 12 && string(head[8:12]) == "WEBP":
		return "a WebP image"
	case bytes.HasPrefix(head, []byte("BM")) && len(head) >= 10 && string(head[6:10]) == "\x00\x00\x00\x00": // no text that begins so
		return "a BMP image"
	}
	return ""
}
