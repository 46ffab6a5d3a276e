package annals_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The maximum size of a package without its tests, so that one person can remember what
// is in it. A larger package must be split.
const (
	maxFiles = 30
	maxLines = 3700
)

// ownLimits lists the packages that have other limits than maxFiles and maxLines, and
// why. A higher limit is the size that the package had when it was listed. The package
// may only shrink, and its entry is removed once the package is within maxFiles and
// maxLines.
var ownLimits = map[string]struct {
	files, lines int
	reason       string
}{
	"cmd/annals": {30, 2000, "it has the flags of all commands and nothing else"},
}

func TestPackageSizes(t *testing.T) {
	found := make(map[string]bool)
	for _, p := range packages(t) {
		found[p.ImportPath] = true
		files, lines := len(p.GoFiles), 0
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(text, []byte("\n"))
		}
		mostFiles, mostLines := maxFiles, maxLines
		if own, listed := ownLimits[p.ImportPath]; listed {
			mostFiles, mostLines = own.files, own.lines
			more := own.files > maxFiles || own.lines > maxLines
			if more && files <= maxFiles && lines <= maxLines {
				t.Errorf("%s is within the limits of all packages (%d files, %d lines): remove it from ownLimits", p.ImportPath, files, lines)
			}
		}
		if files > mostFiles || lines > mostLines {
			t.Errorf("%s has %d files and %d lines without tests, more than %d files or %d lines: split it where one group of files uses few names of the other", p.ImportPath, files, lines, mostFiles, mostLines)
		}
	}
	for name := range ownLimits {
		if !found[name] {
			t.Errorf("there is no package %s: remove it from ownLimits", name)
		}
	}
}

// wellKnown lists methods that need no comment, because they implement a well-known
// interface.
var wellKnown = []string{"Error", "String", "Unwrap", "ServeHTTP", "Read", "Write", "Len", "Less", "Swap"}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, p := range packages(t) {
		missing, err := withoutComment(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(missing) > 0 {
			t.Errorf("%s: say in a comment what these promise, of a package also what it may import:\n\t%s", p.ImportPath, strings.Join(missing, "\n\t"))
		}
	}
}

// withoutComment returns the position and name of each exported name of p that has no
// comment, and the package name if p has no package comment. In main packages it checks
// only the package comment, because no other package can import their names.
func withoutComment(p listed) (missing []string, err error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	pkg, err := doc.NewFromFiles(fset, files, p.ImportPath)
	if err != nil {
		return nil, err
	}
	need := func(comment, name string, pos token.Pos) {
		if at := fset.Position(pos); comment == "" && ast.IsExported(name) {
			missing = append(missing, fmt.Sprintf("%s:%d %s", path.Join(p.ImportPath, filepath.Base(at.Filename)), at.Line, name))
		}
	}
	if pkg.Doc == "" {
		missing = append(missing, "package "+p.Name)
	}
	if p.Name == "main" {
		return missing, nil
	}
	funcs, values := pkg.Funcs, slices.Concat(pkg.Consts, pkg.Vars)
	for _, typ := range pkg.Types {
		need(typ.Doc, typ.Name, typ.Decl.Pos())
		funcs, values = slices.Concat(funcs, typ.Funcs), slices.Concat(values, typ.Consts, typ.Vars)
		for _, m := range typ.Methods {
			if !slices.Contains(wellKnown, m.Name) {
				need(m.Doc, m.Name, m.Decl.Pos())
			}
		}
	}
	for _, f := range funcs {
		need(f.Doc, f.Name, f.Decl.Pos())
	}
	for _, v := range values {
		for _, spec := range v.Decl.Specs {
			s := spec.(*ast.ValueSpec)
			for _, name := range s.Names {
				need(v.Doc+s.Doc.Text()+s.Comment.Text(), name.Name, name.Pos())
			}
		}
	}
	return missing, nil
}

// named matches the path of a file or package of this repository in a Markdown
// document, such as `events/log.go` or `projections/readmodel`.
var named = regexp.MustCompile("`((?:cmd|commands|docs|events|http|projections|queries|schema|scripts)/[a-z0-9_./-]+)`")

// example matches the files that CONTRIBUTING.md shows how to add. They do not exist in
// the repository.
var example = regexp.MustCompile(`/((fold-)?pins?\.(go|sql|txt)|DocumentPinned\.v1\.json)$`)

func TestPapersNameExistingFiles(t *testing.T) {
	papers, err := filepath.Glob("docs/design/*.md")
	if err != nil || len(papers) == 0 {
		t.Fatalf("no papers: %v", err)
	}
	for _, paper := range append(papers, "ARCHITECTURE.md", "CONTRIBUTING.md", "README.md") {
		text, err := os.ReadFile(paper)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(match[1]); err != nil && !example.MatchString(match[1]) {
				t.Errorf("%s names %s, which is not there", paper, match[1])
			}
		}
	}
}
