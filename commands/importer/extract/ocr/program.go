package ocr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/commands/importer/extract/sandbox"
)

// Program is an installed Tesseract.
type Program struct {
	Version   string   // such as "5.3.0"
	Languages []string // to recognise, the most important first
	// Orientation means that the data to detect turned pages is installed.
	Orientation bool

	files sandbox.Program
	data  string // folder of the languages
}

// String describes the program and its languages, such as "Tesseract 5.3.0 (eng+deu)".
func (p *Program) String() string {
	return "Tesseract " + p.Version + " (" + strings.Join(p.Languages, "+") + ")"
}

// Missing is the error of Find if Tesseract, or a language, is not installed, or is too old. Its
// text ends with how to install it.
type Missing string

func (m Missing) Error() string { return string(m) }

// install says how to install Tesseract.
const install = "install Tesseract (apt-get install tesseract-ocr)"

// leastVersion is the oldest version of Tesseract that can be used.
const leastVersion = 5

var (
	languageName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*)?$`)
	dataFolder   = regexp.MustCompile(`"(.+)"`)
	sharedFile   = regexp.MustCompile(`(?m)(?:=> |^\s+)(/\S+) \(0x`)
)

// Find finds Tesseract: the program at path or, if path is empty, in PATH. languages are those
// to recognise; none means all that are installed. If the program or a language is missing or too
// old, the error is a Missing.
func Find(ctx context.Context, path string, languages []string) (*Program, error) {
	found, err := exec.LookPath(cmp.Or(path, "tesseract"))
	if err != nil && path != "" {
		return nil, Missing(fmt.Sprintf("there is no program at %s (--tesseract): %s", path, install))
	}
	if err != nil {
		return nil, Missing("Tesseract is not installed: " + install)
	}
	if found, err = filepath.Abs(found); err == nil {
		found, err = filepath.EvalSymlinks(found)
	}
	if err != nil {
		return nil, fmt.Errorf("find Tesseract: %w", err)
	}
	p := &Program{files: sandbox.Program{Path: found}}
	version, err := p.ask(ctx, nil, "--version")
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(version)
	if len(fields) < 2 || fields[0] != "tesseract" {
		return nil, Missing(fmt.Sprintf("%s is not Tesseract: %s", found, install))
	}
	p.Version = strings.TrimPrefix(fields[1], "v")
	// Earlier versions do not say in which folder their languages are.
	if major, err := strconv.Atoi(strings.SplitN(p.Version, ".", 2)[0]); err == nil && major < leastVersion {
		return nil, Missing(fmt.Sprintf("Tesseract %s is too old: install version %d or later", p.Version, leastVersion))
	}
	list, err := p.ask(ctx, nil, "--list-langs")
	if err != nil {
		return nil, err
	}
	if err := p.choose(list, languages); err != nil {
		return nil, err
	}
	if err := p.findFiles(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// choose sets the languages of the program from its list of those that are installed.
func (p *Program) choose(list string, wanted []string) error {
	head, rest, _ := strings.Cut(list, "\n")
	folder := dataFolder.FindStringSubmatch(head)
	if folder == nil {
		return fmt.Errorf("find the languages of Tesseract: unexpected first line %q", head)
	}
	p.data = filepath.Clean(folder[1])
	var installed []string
	for name := range strings.FieldsSeq(rest) {
		switch {
		case name == "osd":
			p.Orientation = true
		case languageName.MatchString(name) && name != "equ":
			installed = append(installed, name)
		}
	}
	for _, name := range wanted {
		if !slices.Contains(installed, name) {
			return Missing(fmt.Sprintf("Tesseract lacks the language %q (--ocr-languages); it has %s: install it (apt-get install %s)", name, cmp.Or(strings.Join(installed, ", "), "none"), packageOf(name)))
		}
	}
	if p.Languages = wanted; len(wanted) == 0 {
		// Scripts are other data for the same languages. The first language decides in doubt.
		installed = slices.DeleteFunc(installed, func(name string) bool { return strings.Contains(name, "/") })
		slices.SortFunc(installed, func(a, b string) int {
			if (a == "eng") != (b == "eng") {
				return map[bool]int{true: -1, false: 1}[a == "eng"]
			}
			return strings.Compare(a, b)
		})
		p.Languages = installed
	}
	if len(p.Languages) == 0 {
		return Missing("Tesseract has no languages: install one (apt-get install tesseract-ocr-eng)")
	}
	return nil
}

// packageOf returns the package of Debian with the data of a language.
func packageOf(language string) string {
	if strings.HasPrefix(language, "script/") { // their packages have other names
		return "tesseract-ocr-all"
	}
	return "tesseract-ocr-" + strings.ToLower(strings.ReplaceAll(language, "_", "-"))
}

// findFiles lists the files that the program may read: its libraries and its data.
func (p *Program) findFiles(ctx context.Context) error {
	p.files.Reads = []string{p.data}
	if runtime.GOOS != "linux" {
		return nil
	}
	// The dynamic linker prints the libraries instead of running the program. A static program
	// ignores the variable, and prints its help.
	list, err := p.ask(ctx, []string{"LD_TRACE_LOADED_OBJECTS=1"}, "--version")
	if err != nil {
		return err
	}
	for _, match := range sharedFile.FindAllStringSubmatch(list, -1) {
		p.files.Reads = append(p.files.Reads, match[1])
		if strings.HasPrefix(filepath.Base(match[1]), "ld-") {
			p.files.Loader = match[1]
		}
	}
	p.files.Reads = append(p.files.Reads, "/etc/ld.so.cache")
	return nil
}

// ask runs the program without input, and returns its output.
func (p *Program) ask(ctx context.Context, env []string, args ...string) (string, error) {
	timed, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(timed, p.files.Path, args...)
	cmd.Env = append(env, environment(os.Getenv("TESSDATA_PREFIX"))...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("run %s %s: %w: %.200s", p.files.Path, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// environment is the environment of the program. Several threads for a page would take more
// time than one.
func environment(data string) []string {
	env := []string{"OMP_THREAD_LIMIT=1", "LC_ALL=C"}
	if data != "" {
		env = append(env, "TESSDATA_PREFIX="+data)
	}
	return env
}

// arguments returns the program as arguments of Main.
func (p *Program) arguments() []string {
	args := []string{"--program=" + p.files.Path, "--loader=" + p.files.Loader, "--data=" + p.data, "--languages=" + strings.Join(p.Languages, "+")}
	if p.Orientation {
		args = append(args, "--orientation")
	}
	for _, path := range p.files.Reads {
		args = append(args, "--reads="+path)
	}
	return args
}

// ParseLanguages parses a list of languages such as "eng+deu" or "eng,deu". An empty list means
// all languages.
func ParseLanguages(list string) ([]string, error) {
	var names []string
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == '+' || r == ',' || r == ' ' }) {
		if !languageName.MatchString(name) || name == "osd" || name == "equ" {
			return nil, fmt.Errorf("%q is not a language of Tesseract: pass names such as eng+deu", name)
		}
		if slices.Contains(names, name) {
			return nil, fmt.Errorf("language %q is listed twice", name)
		}
		names = append(names, name)
	}
	if len(names) > 20 {
		return nil, errors.New("more than 20 languages are listed")
	}
	return names, nil
}
