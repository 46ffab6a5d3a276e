package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"annals/commands/importer/extract"
)

// localFile is a file to import, as it was when the folder was listed.
type localFile struct {
	Path    string `json:"path"` // below the folder, with slashes
	Size    int64  `json:"size"`
	ModTime int64  `json:"mtime"` // nanoseconds since 1970
}

// tree is what there is to import.
type tree struct {
	dir    string // absolute; that of a single file is its folder
	files  []localFile
	passed passed
	faults []failure // folders that could not be listed
	others []string  // paths of links and special files
	single bool      // one file was named, and not its folder
}

// passed counts what is not imported, and why.
type passed struct {
	Hidden  int `json:"hidden"`
	Links   int `json:"links"`
	Special int `json:"special"`
	Other   int `json:"other_types"`
}

func (p passed) String() string {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{p.Hidden, "hidden"}, {p.Links, "links"}, {p.Special, "no regular files"}, {p.Other, "of other types"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(parts, ", ")
}

// listTree lists a folder, or a single file.
func listTree(name string) (tree, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return tree{}, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return tree{}, fmt.Errorf("look at what to import: %w", err)
	}
	if info.IsDir() {
		// A folder named through a link is meant; links below it are not.
		if abs, err = filepath.EvalSymlinks(abs); err != nil {
			return tree{}, fmt.Errorf("look at what to import: %w", err)
		}
		t := tree{dir: abs}
		return t, filepath.WalkDir(abs, t.visit)
	}
	switch {
	case !info.Mode().IsRegular():
		return tree{}, fmt.Errorf("%s is neither a folder nor a regular file", name)
	case !isImportable(abs):
		return tree{}, fmt.Errorf("%s cannot be imported; files of these types can: %s", name, strings.Join(extract.Extensions(), " "))
	}
	return tree{dir: filepath.Dir(abs), single: true, files: []localFile{describeFile(filepath.Base(abs), info)}}, nil
}

func (t *tree) visit(name string, e fs.DirEntry, err error) error {
	if name == t.dir {
		return err
	}
	rel, errRel := filepath.Rel(t.dir, name)
	if errRel != nil {
		return errRel
	}
	rel = filepath.ToSlash(rel)
	if err != nil {
		t.faults = append(t.faults, failure{rel, unwrapPath(err)})
		return nil
	}
	switch {
	case strings.HasPrefix(e.Name(), "."):
		t.passed.Hidden++
		if e.IsDir() {
			return fs.SkipDir
		}
	case e.IsDir():
	case e.Type()&fs.ModeSymlink != 0:
		t.passed.Links++
		t.others = append(t.others, rel)
	case !e.Type().IsRegular():
		t.passed.Special++
		t.others = append(t.others, rel)
	case !isImportable(name):
		t.passed.Other++
	default:
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since it was listed
		}
		if err != nil {
			t.faults = append(t.faults, failure{rel, unwrapPath(err)})
			return nil
		}
		t.files = append(t.files, describeFile(rel, info))
	}
	return nil
}

func describeFile(rel string, info fs.FileInfo) localFile {
	return localFile{rel, info.Size(), info.ModTime().UnixNano()}
}

func isImportable(name string) bool {
	_, known := extract.Supported(name)
	return known
}

// folderOf is the folder of the service in which a file belongs.
func folderOf(top string, f localFile) string { return path.Join(top, path.Dir(f.Path)) }

// unwrapPath tells a fault of the file system without the path, which stands
// beside it already.
func unwrapPath(err error) string {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Op + ": " + e.Err.Error()
	}
	return err.Error()
}

// batches cuts a list of files into uploads of a bounded size; a larger file
// goes alone.
func batches(files []localFile, most int, bytes int64) [][]localFile {
	var all [][]localFile
	start, size := 0, int64(0)
	for i, f := range files {
		if i > start && (i-start == most || size+f.Size > bytes) {
			all = append(all, files[start:i:i])
			start, size = i, 0
		}
		size += f.Size
	}
	if start < len(files) {
		all = append(all, files[start:])
	}
	return all
}
