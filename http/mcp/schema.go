package mcp

import (
	"annals/commands/naming"
	"annals/queries/search"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaOf returns the JSON schema of a Go type. The descriptions come from the jsonschema
// tags of its fields.
func schemaOf[T any](h *Handler) *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // unreachable, because all types are defined in this package
	}
	h.tidy(s)
	return s
}

// tidy adapts a schema: it puts the configured names into descriptions, forbids null for
// lists, and splits a nullable type into two schemas. Some clients support only one type per
// schema.
func (h *Handler) tidy(s *jsonschema.Schema) {
	s.Description = h.named(s.Description)
	if len(s.Types) == 2 {
		kind := s.Types[1]
		if s.Types = nil; kind == "array" {
			s.Type = kind
		} else {
			s.AnyOf = []*jsonschema.Schema{{Type: kind}, {Type: "null"}}
		}
	}
	if s.Items != nil {
		h.tidy(s.Items)
	}
	for _, p := range s.Properties {
		h.tidy(p)
	}
}

// maxPath is the maximum length of a path argument in characters. It is the maximum length of
// a folder path.
const maxPath = naming.MaxSegments * (naming.MaxName + 1)

// inputSchema adds limits to the fields of an input schema. Fields with the same name have the
// same limits in every tool.
func (h *Handler) inputSchema(s *jsonschema.Schema) *jsonschema.Schema {
	for name, p := range s.Properties {
		switch name {
		case "query":
			p.MinLength, p.MaxLength = new(1), new(h.Limits.QueryLength)
		case "folder_name":
			p.MaxLength = new(maxPath)
		case "tag_name":
			p.MinLength, p.MaxLength = new(1), new(naming.MaxTag)
		case "tags":
			p.MaxItems = new(h.Limits.Tags)
			p.Items.MaxLength = new(naming.MaxTag)
		case "tag_mode":
			p.Enum, p.Default = []any{"all", "any"}, []byte(`"all"`)
		case "limit":
			p.Minimum, p.Maximum = new(1.0), new(float64(search.MaxLimit))
		case "document_id", "job_id", "folder_id":
			p.Format = "uuid"
		case "doc_ids":
			p.MinItems, p.MaxItems = new(1), new(maxDeleted)
			p.Items.Format = "uuid"
		case "cursor":
			p.MaxLength = new(maxCursor)
		case "file_paths":
			p.MinItems, p.MaxItems = new(1), new(h.Limits.Files)
			p.Items.MinLength, p.Items.MaxLength = new(1), new(4096)
		case "file_metadata":
			p.MaxItems = new(h.Limits.Files)
			h.inputSchema(p.Items)
		}
	}
	return s
}
