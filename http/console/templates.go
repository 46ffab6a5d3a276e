package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"annals/http/console/administration"
	"annals/http/console/assets"
)

//go:embed templates/*.html
var templateFiles embed.FS

// templates are the pages by the names of their files. Each has the layout and the shared
// parts.
var templates = parseTemplates()

func parseTemplates() map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(functions).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/viewer.html"))
	all := map[string]*template.Template{}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err) // unreachable: the pattern is valid
	}
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" || name == "parts" || name == "viewer" {
			continue
		}
		all[name] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, file))
	}
	return all
}

var functions = template.FuncMap{
	// In elements with the time, console.js replaces them by the time of the browser's zone.
	"day":       func(t time.Time) string { return t.UTC().Format("2 January 2006") },
	"clock":     func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
	"iso":       func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"asset":     assets.URL,
	"add":       func(a, b int) int { return a + b },
	"add64":     func(a, b int64) int64 { return a + b },
	"percent":   administration.Percent,
	"dict":      dict,
	"initial":   initial,
	"size":      sizeOf,
	"json":      jsonOf,
	"scaled":    func(n, percent int) int { return n * percent / 100 },
	"waitQuery": func(a asking) template.URL { return template.URL(a.values("wait", "1").Encode()) },
}

// initial returns the first letter of a name, in upper case.
func initial(name string) string {
	r, _ := utf8.DecodeRuneInString(name)
	return strings.ToUpper(string(r))
}

// jsonOf returns a value as JSON, for attributes that scripts read.
func jsonOf(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// dict returns a map of names and values, with which a template passes several values to
// another.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict needs pairs")
	}
	all := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is no name", pairs[i])
		}
		all[name] = pairs[i+1]
	}
	return all, nil
}
