package folderimport

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"annals/commands/importer/extract"
)

// localFile is a file to import, with the size and time that it had when the directory
// was listed.
type localFile struct {
	Path    string `json:"path"` // relative to the directory, with slashes
	Size    int64  `json:"size"`
	ModTime int64  `json:"mtime"` // nanoseconds since 1970
}

// tree holds the files to import, and what was found instead of files.
type tree struct {
	dir    string // absolute path of the directory, or of the directory with the single file
	files  []localFile
	passed PassedOver
	faults []Failure // directories that could not be listed
	others []string  // paths of links and special files
	single bool      // true if a single file is imported
	// extensions are those of the files that the server imports; nil means those of the
	// standard formats.
	extensions []string
}

// path returns the local path of a file.
func (t *tree) path(f localFile) string { return filepath.Join(t.dir, filepath.FromSlash(f.Path)) }

// PassedOver counts the files that are not imported, by reason.
type PassedOver struct {
	Hidden  int `json:"hidden"`
	Links   int `json:"links"`
	Special int `json:"special"`
	Other   int `json:"other_types"`
}

func (p PassedOver) String() string {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{p.Hidden, "hidden"}, {p.Links, "links"}, {p.Special, "special files"}, {p.Other, "of other types"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(parts, ", ")
}

// walk lists the files of a directory that a server may be able to read, or a single file.
func walk(name string) (tree, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return tree{}, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return tree{}, fmt.Errorf("list the files to import: %w", err)
	}
	if info.IsDir() {
		// Follow a link that the user passed. Links inside the directory are not followed.
		if abs, err = filepath.EvalSymlinks(abs); err != nil {
			return tree{}, fmt.Errorf("list the files to import: %w", err)
		}
		t := tree{dir: abs}
		err = filepath.WalkDir(abs, t.visit)
		return t, err
	}
	switch {
	case !info.Mode().IsRegular():
		return tree{}, fmt.Errorf("%s is neither a directory nor a regular file", name)
	case !isReadable(abs):
		return tree{}, fmt.Errorf("%s cannot be imported: its type is not one of %s", name, extract.AllFormats())
	}
	return tree{dir: filepath.Dir(abs), single: true, files: []localFile{describe(filepath.Base(abs), info)}}, nil
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
		t.faults = append(t.faults, Failure{rel, reasonOf(err)})
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
	case !isReadable(name):
		t.passed.Other++
	default:
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the file was removed since it was listed
		}
		if err != nil {
			t.faults = append(t.faults, Failure{rel, reasonOf(err)})
			return nil
		}
		t.files = append(t.files, describe(rel, info))
	}
	return nil
}

func describe(rel string, info fs.FileInfo) localFile {
	return localFile{rel, info.Size(), info.ModTime().UnixNano()}
}

// isReadable reports whether some server reads files with this name.
func isReadable(name string) bool {
	_, known := extract.AllFormats().Supports(name)
	return known
}

// isImportable reports whether this server imports files with this name.
func (t *tree) isImportable(name string) bool {
	if t.extensions == nil {
		_, standard := extract.StandardFormats().Supports(name)
		return standard
	}
	return slices.Contains(t.extensions, extract.Extension(name))
}

// restrict leaves out the files that the server does not import.
func (t *tree) restrict() {
	all := len(t.files)
	t.files = slices.DeleteFunc(t.files, func(f localFile) bool { return !t.isImportable(f.Path) })
	t.passed.Other += all - len(t.files)
}

// folderOf returns the folder on the server into which a file is imported.
func folderOf(top string, f localFile) string { return path.Join(top, path.Dir(f.Path)) }

// reasonOf returns the text of an error without the path of the file, which is printed
// next to the text.
func reasonOf(err error) string {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Op + ": " + e.Err.Error()
	}
	return err.Error()
}
