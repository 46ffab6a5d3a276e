package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"time"
)

// modeOf returns the file mode of file i in an archive. File 0 is the program and is
// executable.
func modeOf(i int) os.FileMode {
	if i == 0 {
		return 0o755
	}
	return 0o644
}

// tarGzip returns a .tar.gz archive of files in a folder. All files get the time at.
// Times, owners and modes are not copied from the disk, because they differ from
// machine to machine.
func tarGzip(folder string, files []string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(packed)
	for i, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: folder + "/" + filepath.Base(file), Size: int64(len(content)),
			Mode: int64(modeOf(i)), ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := packed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zipped is like tarGzip, but returns a zip archive, which Windows can open.
func zipped(folder string, files []string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for i, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		header := &zip.FileHeader{Name: folder + "/" + filepath.Base(file), Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(modeOf(i))
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
