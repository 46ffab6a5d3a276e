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

// rules lists which packages of this module each package may import. A pattern that
// ends in "/..." matches all packages below a folder. If several patterns match a
// package, the longest one applies.
var rules = map[string][]string{
	"schema": {},

	"endpoint":             {},
	"endpoint/llm":         {"endpoint"},
	"endpoint/llm/llmtest": {},

	"events/disk":             {"events/sqldb"},
	"events/failpoint":        {},
	"events/fault":            {},
	"events/lookalike":        {},
	"events/prose":            {},
	"events/nearest":          {},
	"events":                  {"schema", "events/fault"},
	"events/memory":           {"events", "events/fault"},
	"events/sqlite":           {"events", "events/failpoint", "events/fault", "events/sqldb"},
	"events/eventstoredb":     {"events", "events/fault"},
	"events/eventstoredb/...": {"events", "events/fault"},
	"events/eventstest":       {"events", "events/fault"},
	"events/sqldb":            {"events/fault"},
	"events/sqldb/...":        {"events/sqldb"},
	"events/s3":               {"events/fault"},
	"events/s3/...":           {"events/s3"},
	"events/originals":        {"events/failpoint", "events/fault", "events/s3"},
	"events/originals/...":    {"events/fault", "events/originals"},
	"events/compact":          {"events", "events/fault"},
	"events/copylog":          {"events", "events/fault"},
	"events/backup":           {"events", "events/fault", "events/originals", "events/s3"},

	"commands":                               {"commands/aggregate", "commands/foldertree", "commands/naming", "commands/quota", "events", "events/failpoint", "events/fault", "events/lookalike"},
	"commands/naming":                        {"events", "events/fault", "events/lookalike"},
	"commands/foldertree":                    {"commands/naming", "commands/quota", "events", "events/fault", "events/lookalike"},
	"commands/aggregate":                     {"commands/quota", "events", "events/fault"},
	"commands/quota":                         {"events", "events/fault"},
	"commands/commandstest":                  {"commands/aggregate", "events"},
	"commands/importer":                      {"commands", "commands/importer/extract", "commands/importer/extract/process", "commands/importer/extract/reader", "commands/importer/turns", "commands/quota", "events", "events/failpoint", "events/fault", "events/originals"},
	"commands/importer/summarise":            {"events/prose"},
	"commands/importer/pages":                {"commands/importer/extract", "events/fault", "events/originals"},
	"commands/importer/...":                  {"events/fault"},
	"commands/importer/extract":              {"events/fault", "events/lookalike"},
	"commands/importer/extract/charset":      {"commands/importer/extract", "events/fault"},
	"commands/importer/extract/csv":          {"commands/importer/extract", "commands/importer/extract/charset", "events/fault"},
	"commands/importer/extract/mail":         {"commands/importer/extract", "commands/importer/extract/charset", "commands/importer/extract/html", "events/fault"},
	"commands/importer/extract/epub":         {"commands/importer/extract", "commands/importer/extract/html", "commands/importer/extract/zipxml", "events/fault"},
	"commands/importer/extract/rtf":          {"commands/importer/extract", "commands/importer/extract/blocks", "events/fault"},
	"commands/importer/extract/html":         {"commands/importer/extract", "commands/importer/extract/blocks", "commands/importer/extract/charset", "events/fault"},
	"commands/importer/extract/text":         {"commands/importer/extract", "commands/importer/extract/charset", "commands/importer/extract/html", "events/fault"},
	"commands/importer/extract/zipxml":       {"commands/importer/extract", "events/fault"},
	"commands/importer/extract/blocks":       {"commands/importer/extract"},
	"commands/importer/extract/formula":      {"commands/importer/extract/zipxml", "events/fault"},
	"commands/importer/extract/ooxml":        {"commands/importer/extract", "commands/importer/extract/blocks", "commands/importer/extract/formula", "commands/importer/extract/zipxml", "events/fault"},
	"commands/importer/extract/docx":         {"commands/importer/extract", "commands/importer/extract/blocks", "commands/importer/extract/formula", "commands/importer/extract/ooxml", "commands/importer/extract/zipxml", "events/fault"},
	"commands/importer/extract/odt":          {"commands/importer/extract", "commands/importer/extract/blocks", "commands/importer/extract/formula", "commands/importer/extract/zipxml", "events/fault"},
	"commands/importer/extract/pptx":         {"commands/importer/extract", "commands/importer/extract/blocks", "commands/importer/extract/ooxml", "commands/importer/extract/zipxml", "events/fault"},
	"commands/importer/extract/xlsx":         {"commands/importer/extract", "commands/importer/extract/blocks", "commands/importer/extract/ooxml", "commands/importer/extract/zipxml", "events/fault"},
	"commands/importer/extract/pdf":          {"commands/importer/extract/pdf/bidi", "commands/importer/extract/pdf/grid", "commands/importer/extract", "commands/importer/extract/pdf/pdfium", "commands/importer/extract/pdf/vertical"},
	"commands/importer/extract/pdf/accent":   {},
	"commands/importer/extract/pdf/bidi":     {},
	"commands/importer/extract/pdf/grid":     {"commands/importer/extract/pdf/pdfium"},
	"commands/importer/extract/pdf/quality":  {},
	"commands/importer/extract/pdf/spacing":  {},
	"commands/importer/extract/pdf/truetype": {},
	"commands/importer/extract/pdf/vertical": {"commands/importer/extract/pdf/pdfium"},
	"commands/importer/extract/pdf/pdfium":   {"commands/importer/extract/pdf/accent", "commands/importer/extract/pdf/bidi", "commands/importer/extract/pdf/quality", "commands/importer/extract/pdf/spacing", "commands/importer/extract/pdf/truetype", "commands/importer/extract/process", "commands/importer/extract/sandbox", "events/fault"},
	"commands/importer/extract/ocr":          {"commands/importer/extract/process", "commands/importer/extract/sandbox", "events/fault"},
	"commands/importer/extract/raster":       {},
	"commands/importer/extract/images":       {"commands/importer/extract/pdf/pdfium", "commands/importer/extract/process", "commands/importer/extract/raster"},
	"commands/importer/extract/process":      {"commands/importer/extract/sandbox", "events/fault"},
	"commands/importer/extract/sandbox":      {},
	"commands/importer/extract/reader":       {"commands/importer/extract/...", "commands/importer/extract", "events/fault"},
	"commands/importer/extract/extracttest":  {"commands/importer/extract", "commands/importer/extract/ocr", "commands/importer/extract/reader", "events/fault"},

	"projections":                        {"events", "events/failpoint", "events/disk", "events/fault", "events/sqldb", "projections/cluster", "projections/control", "projections/generation", "projections/readmodel", "projections/readmodel/passages", "projections/searchindex", "projections/tables"},
	"projections/cluster":                {"events", "events/fault", "events/sqldb", "projections/control", "projections/tables"},
	"projections/generation":             {"events", "events/failpoint", "events/fault", "events/sqldb", "projections/control", "projections/readmodel", "projections/searchindex", "projections/tables"},
	"projections/verify":                 {"events", "events/fault", "events/sqldb", "projections/generation", "projections/readmodel", "projections/readmodel/passages", "projections/searchindex", "projections/tables"},
	"projections/tables":                 {"events", "events/failpoint", "events/fault", "events/sqldb", "projections/readmodel", "schema"},
	"projections/control":                {"events", "events/failpoint", "events/fault", "events/sqldb", "schema"},
	"projections/importqueue":            {"events", "events/failpoint", "events/sqldb", "projections", "projections/control"},
	"projections/readmodel":              {"events", "events/fault", "events/lookalike", "events/sqldb", "projections/searchindex"},
	"projections/readmodel/passages":     {"events", "events/failpoint", "events/fault", "events/sqldb", "projections/readmodel", "projections/searchindex"},
	"projections/readmodel/vectors":      {"events", "events/sqldb", "projections/readmodel", "projections/readmodel/passages", "projections/searchindex"},
	"projections/embeddings":             {"endpoint", "events/fault"},
	"projections/embeddings/...":         {"projections/embeddings"},
	"projections/projectionstest":        {"events", "events/memory", "events/sqldb", "events/sqldb/postgrestest", "projections", "projections/control", "projections/generation", "projections/readmodel", "projections/searchindex/bleve", "projections/tables"},
	"projections/projectionstest/golden": {},
	"projections/searchindex":            {"events", "events/fault", "events/prose", "projections/searchindex/bm25", "projections/searchindex/language"},
	"projections/searchindex/bm25":       {},
	"projections/searchindex/language":   {},
	"projections/searchindex/...":        {"events", "events/disk", "events/fault", "projections/searchindex", "projections/searchindex/bm25", "projections/searchindex/language"},

	"queries":                   {"projections", "projections/generation", "queries/...", "events", "events/fault"},
	"queries/freshness":         {"projections", "events", "events/fault"},
	"queries/access":            {"projections", "queries/freshness", "events", "events/fault"},
	"queries/vault":             {"projections", "queries/access", "queries/describe", "queries/freshness", "queries/pagemark", "events", "events/fault", "events/lookalike"},
	"queries/search":            {"projections", "projections/readmodel", "projections/readmodel/passages", "projections/readmodel/vectors", "projections/searchindex", "queries/access", "queries/answer", "queries/answerlog", "queries/compose", "queries/followup", "queries/freshness", "queries/vault", "events", "events/fault"},
	"queries/jobs":              {"projections", "queries/access", "queries/freshness", "queries/vault", "events", "events/fault"},
	"queries/audit":             {"projections", "queries/access", "queries/accesslog", "queries/freshness", "queries/vault", "events", "events/fault"},
	"queries/queriestest":       {"projections", "projections/...", "queries/freshness", "events", "events/memory"},
	"queries/pagemark":          {},
	"queries/accesslog":         {"events", "events/fault", "events/sqldb"},
	"queries/answer":            {"events/prose", "queries/answer/imprint", "queries/answer/markdown", "queries/answer/matching", "queries/answer/words"},
	"queries/answer/imprint":    {"events/prose", "queries/answer/words"},
	"queries/answer/matching":   {"events/prose", "queries/answer/markdown", "queries/answer/words"},
	"queries/answer/support":    {"events/prose", "queries/answer/markdown", "queries/answer/matching", "queries/answer/words"},
	"queries/answer/answertest": {"events/prose", "queries/answer/matching"},
	"queries/answer/...":        {"events/prose"},
	"queries/answerlog":         {"endpoint/llm", "events", "events/fault", "events/sqldb"},
	"queries/compose":           {"endpoint/llm", "events", "events/fault", "events/prose", "queries/answer", "queries/answer/markdown", "queries/answer/support", "queries/followup"},
	"queries/followup":          {"events/prose"},
	"queries/describe":          {"endpoint/llm", "events", "events/fault", "events/sqldb", "queries/answer/support", "queries/compose"},

	"http": {
		"commands", "commands/foldertree", "commands/naming", "commands/quota", "queries", "queries/...", "events", "events/disk", "events/fault", "events/lookalike", "events/nearest", "events/originals", "http/admin", "http/answers", "http/conditional", "http/form", "http/ingest", "http/listing", "http/problem", "http/progress", "http/ratelimit", "http/signin/provider", "http/sse", "http/usage", "http/webpage", "schema",
		"commands/importer/extract", // for the list of file formats that can be imported
	},
	"http/problem":                      {"commands", "events/fault", "events/nearest"},
	"http/form":                         {"http/problem", "events", "events/fault", "events/nearest", "schema"},
	"http/answers":                      {"http/form", "http/problem", "http/sse", "queries/followup", "queries/answerlog", "queries/compose", "queries/search", "endpoint/llm"},
	"http/sse":                          {},
	"http/webpage":                      {},
	"http/admin":                        {"http/form", "http/problem", "http/signin/accounts", "events", "events/fault", "queries"},
	"http/listing":                      {"http/form", "queries/vault"},
	"http/usage":                        {"commands/quota", "queries"},
	"http/conditional":                  {"http/problem"},
	"http/progress":                     {"http/sse", "queries/jobs", "events", "events/fault"},
	"http/ingest":                       {"http/form", "http/problem", "commands", "commands/importer/extract", "commands/naming", "commands/quota", "events", "events/fault", "events/lookalike", "events/originals"},
	"http/mcp":                          {"http", "http/answers", "http/ingest", "http/ratelimit", "commands", "commands/foldertree", "commands/naming", "commands/quota", "queries", "queries/...", "events", "events/fault", "events/originals"},
	"http/ratelimit":                    {"commands/quota", "events", "events/fault"},
	"http/console":                      {"http/console/about", "http/console/administration", "http/console/assets", "http/console/marks", "http/console/richtext", "http/console/session", "http/console/trail", "http/console/upload", "http/console/viewer", "http/console/worddiff", "http/webpage"},
	"http/console/assets":               {},
	"http/console/marks":                {},
	"http/console/viewer":               {"http/console/marks", "http/console/richtext"},
	"http/console/richtext":             {},
	"http/console/about":                {},
	"http/console/administration":       {},
	"http/console/trail":                {},
	"http/console/upload":               {},
	"http/console/worddiff":             {},
	"http/console/session":              {"http/signin", "http/webpage", "events", "events/fault"},
	"http/signin/...":                   {"http/signin/sealed", "events/fault"},
	"http/signin/accounts":              {"http/signin/apitoken", "http/signin/otp", "http/signin/passkey", "http/signin/queue", "http/signin/sealed", "events", "events/failpoint", "events/fault", "events/lookalike", "events/sqldb"},
	"http/signin/accounts/accountstest": {"http/signin/accounts", "events/fault", "events/sqldb", "events/sqldb/postgrestest"},
	"http/signin":                       {"http/signin/accounts", "http/signin/apitoken", "events", "events/failpoint", "events/fault"},
	"http/signin/signintest":            {"http/signin", "http/signin/accounts", "http/signin/accounts/accountstest", "http/signin/apitoken", "events/fault"},
	"http/signin/provider":              {"http/signin", "http/signin/...", "http/webpage", "events", "events/fault", "events/lookalike"},
	"http/signin/provider/clients":      {"http/signin/provider/oauth", "http/signin/accounts", "events/lookalike"},
	"http/signin/provider/oauth":        {},
	"http/signin/provider/throttle":     {},
	// The package metrics counts what queries return and what commands append, by
	// wrapping the services.
	"http/metrics": {"http", "commands/quota", "queries", "events", "events/disk", "events/fault"},

	"cmd/...": {"..."},
	"cmd/annals": {
		"cmd/annals/...", "cmd/usage", "commands/...", "events", "events/fault", "http/signin", "http/signin/...", "projections/readmodel",
	},
	// Only the package engine opens stores from their URLs.
	"cmd/annals/engine":     {"events", "events/...", "http/signin", "http/signin/accounts", "projections", "projections/...", "queries/accesslog", "queries/answerlog", "queries/describe"},
	"cmd/annals/service":    {"cmd/annals/engine", "cmd/annals/settings", "cmd/annals/terminal", "cmd/usage", "commands", "commands/...", "endpoint/llm", "events", "events/disk", "events/fault", "events/originals", "http", "http/...", "projections", "projections/control", "projections/embeddings", "projections/generation", "projections/importqueue", "projections/readmodel/vectors", "projections/searchindex", "queries", "queries/..."},
	"cmd/annals/maintain":   {"cmd/annals/engine", "cmd/annals/terminal", "events", "events/backup", "events/compact", "events/copylog", "events/fault", "events/originals", "http/signin/accounts", "projections", "projections/generation", "projections/readmodel", "projections/readmodel/vectors", "projections/verify", "queries/accesslog"},
	"cmd/annals/admin":      {"cmd/annals/engine", "cmd/usage", "commands/quota", "events", "events/fault", "http/signin", "http/signin/accounts", "queries"},
	"cmd/annals/connection": {"cmd/annals/admin", "cmd/annals/client", "cmd/annals/terminal", "http/signin"},
	// The packages of client commands, which only call a server, open no store.
	"cmd/annals/terminal":            {},
	"cmd/annals/settings":            {"commands/quota", "events/nearest", "queries/accesslog"},
	"cmd/annals/login":               {"events/fault"},
	"cmd/annals/client":              {"cmd/annals/login", "cmd/annals/terminal", "commands/naming", "events", "events/fault"},
	"cmd/annals/sharing":             {"cmd/annals/client", "cmd/annals/terminal", "events"},
	"cmd/annals/evaluation":          {"cmd/annals/client", "cmd/annals/terminal"},
	"cmd/annals/rereading":           {"cmd/annals/client", "cmd/annals/terminal", "events"},
	"cmd/annals/folderimport/mirror": {},
	"cmd/annals/folderimport": {
		"cmd/annals/client", "cmd/annals/folderimport/mirror", "cmd/annals/terminal", "commands/naming", "commands/importer/extract", "events", "events/fault",
		"commands/importer/extract/text", // for tags in front matter
		"http/ingest",                    // for the rules by which the server names documents
	},
	"cmd/release": {},
}

// engines returns the packages that implement an event log or a search engine. Only cmd
// may import them, because it chooses the engine. Packages below searchindex that
// several engines share are not included.
func engines(t *testing.T) []string {
	all := []string{"events/memory", "events/sqlite", "events/eventstoredb"}
	for _, p := range packages(t) {
		if path.Dir(p.ImportPath) == "projections/searchindex" && path.Base(p.ImportPath) != "bm25" && path.Base(p.ImportPath) != "language" && !strings.HasSuffix(p.ImportPath, "test") {
			all = append(all, p.ImportPath)
		}
	}
	return all
}

// folders lists the top-level folders that contain Go code.
var folders = []string{"cmd", "commands", "endpoint", "events", "http", "projections", "queries", "schema"}

type listed struct {
	ImportPath, Dir, Name string
	Imports, GoFiles      []string
}

// packages returns all packages of this module. Import paths are without the module
// name, and Imports contains only packages of this module.
func packages(t *testing.T) []listed {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Name,Imports,GoFiles", "./...")
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

// covers reports whether pkg matches a pattern: the exact path of a package, or a
// prefix that ends in "...".
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

// Checks that the table rules itself does not allow an import that the architecture
// forbids, such as projections from commands.
func TestRulesKeepTheSidesApart(t *testing.T) {
	engines := engines(t)
	for pkg, allowed := range rules {
		for _, apart := range []struct{ from, to string }{
			{"commands", "projections"}, {"commands", "queries"}, {"commands", "http"},
			{"projections", "commands"}, {"projections", "queries"}, {"projections", "http"},
			{"queries", "commands"}, {"queries", "http"},
			{"http", "projections"},
			{"events", "commands"}, {"events", "projections"}, {"events", "queries"}, {"events", "http"}, {"events", "endpoint"},
		} {
			if within(pkg, apart.from) && slices.ContainsFunc(allowed, func(a string) bool { return within(a, apart.to) }) {
				t.Errorf("the rule of %s lets it import %s", pkg, apart.to)
			}
		}
		for _, engine := range engines {
			forTests := strings.HasSuffix(pkg, "test")
			if !within(pkg, "cmd") && !forTests && slices.ContainsFunc(allowed, func(a string) bool { return covers(a, engine) }) {
				t.Errorf("the rule of %s lets it import the engine %s, which cmd alone may know", pkg, engine)
			}
		}
	}
}

// Checks that scripts/test runs every package whose tests open read models or accounts
// on PostgreSQL too.
func TestScriptTestsPackagesOnPostgres(t *testing.T) {
	script, err := os.ReadFile("scripts/test")
	if err != nil {
		t.Fatal(err)
	}
	_, onPostgres, _ := strings.Cut(string(script), "ANNALS_TEST_READ_MODELS=postgres")
	list := strings.Fields(onPostgres)
	without := []string{
		"http/signin/provider/throttle", // its tests use only the clock
		"projections/cluster",           // its nodes always share PostgreSQL
		"projections/tables",            // its tests open both kinds of tables themselves
	}
	command := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		pkg := strings.TrimPrefix(fields[0], "annals/")
		opens := slices.ContainsFunc(fields[1:], func(imported string) bool {
			return slices.Contains([]string{"annals/projections/projectionstest", "annals/queries/queriestest", "annals/http/signin/accounts/accountstest", "annals/http/signin/signintest", "annals/cmd/stacktest"}, imported)
		})
		if opens && !slices.Contains(without, pkg) && !slices.Contains(list, "./"+pkg) {
			t.Errorf("the tests of %s open read models or accounts, and scripts/test does not run them on PostgreSQL: add ./%s to its list", pkg, pkg)
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
