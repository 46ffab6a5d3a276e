package annals_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// rules says which packages of ours a package may import. The rule with the
// longest path that covers a package counts; "/..." covers what is below.
var rules = map[string][]string{
	"schema":                            {},
	"events/disk":                       {},
	"events/failpoint":                  {},
	"events/fault":                      {},
	"events/lookalike":                  {},
	"events/nearest":                    {},
	"events":                            {"schema", "events/fault"},
	"events/memory":                     {"events", "events/fault"},
	"events/sqlite":                     {"events", "events/failpoint", "events/fault"},
	"events/eventstoredb":               {"events", "events/fault"},
	"events/eventstoredb/...":           {"events", "events/fault"},
	"events/eventstest":                 {"events", "events/fault"},
	"events/postgres":                   {"events/fault"},
	"events/postgres/...":               {"events/postgres"},
	"events/s3":                         {"events/fault"},
	"events/s3/...":                     {"events/s3"},
	"events/originals":                  {"events/failpoint", "events/fault", "events/s3"},
	"events/originals/...":              {"events/fault", "events/originals"},
	"events/compact":                    {"events", "events/fault"},
	"events/copylog":                    {"events", "events/fault"},
	"events/backup":                     {"events", "events/fault", "events/originals", "events/s3"},
	"commands":                          {"commands/quota", "events", "events/failpoint", "events/fault", "events/lookalike"},
	"commands/quota":                    {"events", "events/fault"},
	"commands/importer":                 {"commands", "commands/importer/extract", "commands/importer/turns", "commands/quota", "events", "events/failpoint", "events/fault", "events/originals"},
	"commands/importer/...":             {"events/fault"},
	"commands/importer/extract":         {"commands/importer/extract/...", "events/fault", "events/lookalike"},
	"commands/importer/extract/pdfium":  {"commands/importer/extract/process", "commands/importer/extract/sandbox", "events/fault"},
	"commands/importer/extract/process": {"commands/importer/extract/sandbox", "events/fault"},
	"commands/importer/extract/sandbox": {},
	"projections":                       {"events", "events/failpoint", "events/disk", "events/fault", "events/lookalike", "events/postgres", "projections/searchindex", "schema"},
	"projections/projectionstest":       {"events/postgres", "events/postgres/postgrestest", "projections"},
	"projections/searchindex":           {"events", "events/fault"},
	"projections/searchindex/...":       {"events", "events/disk", "events/fault", "projections/searchindex"},
	"queries":                           {"projections", "projections/searchindex", "events", "events/fault", "events/lookalike", "queries/accesslog", "queries/answer", "queries/pagemark"},
	"queries/pagemark":                  {},
	"queries/accesslog":                 {"events", "events/fault", "events/postgres"},
	"queries/answer":                    {"events/fault"},
	"http": {
		"commands", "commands/quota", "queries", "queries/accesslog", "events", "events/disk", "events/fault", "events/lookalike", "events/nearest", "events/originals", "http/ratelimit", "http/signin", "schema",
		"commands/importer/extract", // which files can be read
	},
	"http/mcp":        {"http", "http/ratelimit", "commands", "commands/quota", "queries", "queries/accesslog", "events", "events/fault", "events/originals"},
	"http/ratelimit":  {"commands/quota", "events", "events/fault"},
	"http/signin/...": {"http/signin/sealed", "events/fault"},
	"http/signin":     {"http/signin/...", "events", "events/failpoint", "events/fault", "events/lookalike", "events/postgres"},
	// metrics measures the services from outside: what they read and what they append.
	"http/metrics": {"http", "commands/quota", "queries", "events", "events/disk", "events/fault"},
	"cmd/...":      {"..."},
	"cmd/release":  {},
}

// engines are known to cmd alone, which chooses among them.
var engines = []string{"events/memory", "events/sqlite", "events/eventstoredb", "projections/searchindex/bleve", "projections/searchindex/meilisearch"}

// folders are the ones that hold code, at the top.
var folders = []string{"cmd", "commands", "events", "http", "projections", "queries", "schema"}

type listed struct {
	ImportPath string
	Imports    []string
}

// packages returns every package of this module, and what it imports of it,
// without the module's name.
func packages(t *testing.T) []listed {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(out); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath, _ = strings.CutPrefix(p.ImportPath, "annals/")
		var ours []string
		for _, i := range p.Imports {
			if rest, ok := strings.CutPrefix(i, "annals/"); ok {
				ours = append(ours, rest)
			}
		}
		p.Imports = ours
		all = append(all, p)
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("go list: %v", err)
	}
	if len(all) < 10 {
		t.Fatalf("go list finds %d packages only", len(all))
	}
	return slices.DeleteFunc(all, func(p listed) bool { return p.ImportPath == "annals" })
}

// covers reports whether a pattern covers a package.
func covers(pattern, pkg string) bool {
	above, below := strings.CutSuffix(pattern, "...")
	if !below {
		return pattern == pkg
	}
	return strings.HasPrefix(pkg, above)
}

func ruleFor(pkg string) (allowed []string, found bool) {
	longest := -1
	for pattern, may := range rules {
		exact := len(strings.TrimSuffix(pattern, "..."))
		if covers(pattern, pkg) && exact > longest {
			longest, allowed, found = exact, may, true
		}
	}
	return allowed, found
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	for _, p := range packages(t) {
		allowed, found := ruleFor(p.ImportPath)
		if !found {
			t.Errorf("there is no rule for %s: say in rules what it may import", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			if !slices.ContainsFunc(allowed, func(pattern string) bool { return covers(pattern, imported) }) {
				t.Errorf("%s imports %s; it may import %v", p.ImportPath, imported, allowed)
			}
		}
	}
}

// The rules themselves keep to what the design rests on.
func TestRulesKeepTheSidesApart(t *testing.T) {
	for pkg, allowed := range rules {
		for _, apart := range []struct{ from, to string }{
			{"commands", "projections"}, {"commands", "queries"}, {"commands", "http"},
			{"projections", "commands"}, {"projections", "queries"}, {"projections", "http"},
			{"queries", "commands"}, {"queries", "http"},
			{"http", "projections"},
			{"events", "commands"}, {"events", "projections"}, {"events", "queries"}, {"events", "http"},
		} {
			if within(pkg, apart.from) && slices.ContainsFunc(allowed, func(a string) bool { return within(a, apart.to) }) {
				t.Errorf("the rule of %s lets it import %s", pkg, apart.to)
			}
		}
		for _, engine := range engines {
			if !within(pkg, "cmd") && slices.ContainsFunc(allowed, func(a string) bool { return covers(a, engine) }) {
				t.Errorf("the rule of %s lets it import the engine %s, which cmd alone may know", pkg, engine)
			}
		}
	}
}

func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

func TestCodeLiesInThePrescribedFolders(t *testing.T) {
	for _, p := range packages(t) {
		top := p.ImportPath
		for path.Dir(top) != "." {
			top = path.Dir(top)
		}
		if !slices.Contains(folders, top) {
			t.Errorf("%s lies in %s; code lies in %v", p.ImportPath, top, folders)
		}
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			t.Errorf("the folder %s is missing", folder)
		}
	}
}
