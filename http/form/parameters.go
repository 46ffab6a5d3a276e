package form

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"annals/events/nearest"
	"annals/http/problem"
	"annals/schema"

	"go.yaml.in/yaml/v3"
)

// QueryParameters returns the names of the query parameters of each route in an OpenAPI
// document. The keys are method and path.
func QueryParameters(document string) map[string][]string {
	type parameter struct {
		Ref  string `yaml:"$ref"`
		Name string `yaml:"name"`
		In   string `yaml:"in"`
	}
	var described struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"`

		Components struct {
			Parameters map[string]parameter `yaml:"parameters"`
		} `yaml:"components"`
	}
	text, err := schema.OpenAPI.ReadFile(document)
	if err == nil {
		err = yaml.Unmarshal(text, &described)
	}
	if err != nil {
		panic(fmt.Sprintf("%s: %v", document, err)) // it is embedded
	}
	known := make(map[string][]string)
	add := func(route string, list []parameter) {
		for _, p := range list {
			if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
				p = described.Components.Parameters[name]
			}
			if p.In == "query" {
				known[route] = append(known[route], p.Name)
			}
		}
	}
	for path, item := range described.Paths {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			node, ok := item[strings.ToLower(method)]
			if !ok {
				continue
			}
			var own struct{ Parameters []parameter }
			var shared []parameter
			if err := node.Decode(&own); err != nil {
				panic(fmt.Sprintf("%s %s in %s: %v", method, path, document, err))
			}
			if all, ok := item["parameters"]; ok {
				if err := all.Decode(&shared); err != nil {
					panic(fmt.Sprintf("%s in %s: %v", path, document, err))
				}
			}
			add(method+" "+path, append(shared, own.Parameters...))
		}
	}
	return known
}

// UnknownParameters returns an error in the format of d if a query has parameters that are not
// in known.
func UnknownParameters(d problem.Dialect, query url.Values, known []string) error {
	var found problem.Fields
	var wrong problem.Rejected
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if slices.Contains(known, name) || len(wrong) >= problem.MaxFaults {
			continue
		}
		found.Unknown(name, query[name][0], known, []any{"query"})
		wrong = append(wrong, fmt.Sprintf("property %s should not exist: %s", nearest.Shortened(name), nearest.Hint(name, known)))
	}
	switch {
	case len(wrong) == 0:
		return nil
	case d.Tagged: // the vault
		return wrong
	}
	return found.Err()
}
