package mcp

import (
	"annals/commands"
	"annals/queries"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaOf returns the schema of a type whose fields are described by their
// tags.
func schemaOf[T any](h *Handler) *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // the types are ours
	}
	h.tidy(s)
	return s
}

// tidy puts the configured names into a schema's descriptions, says of every
// list that it is never null, and of what may be null so by two schemas: some
// clients know one type for each alone.
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

// maxPath is the most characters of a path that is asked for: more than any
// that a document can lie at.
const maxPath = commands.MaxSegments * (commands.MaxName + 1)

// inputSchema adds to a schema the limits of its fields. A name means the same
// in every tool.
func (h *Handler) inputSchema(s *jsonschema.Schema) *jsonschema.Schema {
	for name, p := range s.Properties {
		switch name {
		case "query":
			p.MinLength, p.MaxLength = ptr(1), ptr(h.Limits.QueryLength)
		case "folder_name":
			p.MaxLength = ptr(maxPath)
		case "tag_name":
			p.MinLength, p.MaxLength = ptr(1), ptr(commands.MaxTag)
		case "tags":
			p.MaxItems = ptr(h.Limits.Tags)
			p.Items.MaxLength = ptr(commands.MaxTag)
		case "tag_mode":
			p.Enum, p.Default = []any{"all", "any"}, []byte(`"all"`)
		case "limit":
			p.Minimum, p.Maximum = ptr(1.0), ptr(float64(queries.MaxSearchLimit))
		case "document_id", "job_id", "folder_id":
			p.Format = "uuid"
		case "doc_ids":
			p.MinItems, p.MaxItems = ptr(1), ptr(maxDeleted)
			p.Items.Format = "uuid"
		case "cursor":
			p.MaxLength = ptr(maxCursor)
		case "file_paths":
			p.MinItems, p.MaxItems = ptr(1), ptr(h.Limits.Files)
			p.Items.MinLength, p.Items.MaxLength = ptr(1), ptr(4096)
		case "file_metadata":
			p.MaxItems = ptr(h.Limits.Files)
			h.inputSchema(p.Items)
		}
	}
	return s
}

func ptr[T any](v T) *T { return &v }
