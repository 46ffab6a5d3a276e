package extract

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/adrg/frontmatter"
	"go.yaml.in/yaml/v3"
)

const maxFrontMatter = 64 << 10 // bytes; a longer one is text

// matter is the block of metadata that a Markdown file begins with.
type matter struct {
	title  string
	text   string // the other fields, as a Markdown list
	length int    // of the block, in bytes; 0: there is none
}

// frontMatter reads the block of metadata that a Markdown file begins with
// (YAML, TOML, or JSON in a comment, as Go's own site has it).
func frontMatter(source []byte) matter {
	head := source[:min(len(source), maxFrontMatter)]
	start := bytes.TrimLeft(head, "\r\n\t ")
	if !bytes.HasPrefix(start, []byte("---")) && !bytes.HasPrefix(start, []byte("+++")) && !bytes.HasPrefix(start, []byte("<!--{")) {
		return matter{}
	}
	body := []byte(nil)
	keep := func(decode frontmatter.UnmarshalFunc) frontmatter.UnmarshalFunc {
		return func(data []byte, v any) error { body = bytes.Clone(data); return decode(data, v) }
	}
	var fields yaml.Node
	rest, err := frontmatter.Parse(bytes.NewReader(head), &fields,
		frontmatter.NewFormat("---", "---", keep(yaml.Unmarshal)),
		frontmatter.NewFormat("+++", "+++", keep(asNode(toml.Unmarshal))),
		frontmatter.NewFormat("<!--{", "}-->", keep(asNode(jsonFields))))
	if fields.Kind == yaml.DocumentNode {
		fields = *fields.Content[0]
	}
	isText := len(bytes.TrimSpace(body)) > 0 && (fields.Kind != yaml.MappingNode || len(fields.Content) == 0)
	switch {
	case body == nil:
		return matter{}
	case err != nil: // broken, but metadata all the same if it looks so
		return brokenMatter(head, body)
	case isText && bytes.HasPrefix(start, []byte("---")) && onlyComments(body):
	case isText: // between two rules
		return matter{}
	}
	m := fieldsOf(&fields)
	m.length = len(head) - len(rest)
	return m
}

// onlyComments reports whether all lines of a YAML block are comments.
func onlyComments(body []byte) bool {
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// brokenMatter keeps the lines of metadata that cannot be parsed.
func brokenMatter(head, body []byte) matter {
	if !fieldLine.Match(body) {
		return matter{}
	}
	m := matter{length: len(head)}
	if at := titleLine.FindSubmatchIndex(body); at != nil {
		m.title = strings.Trim(string(body[at[2]:at[3]]), "'\" \r")
	}
	var list strings.Builder
	for line := range bytes.Lines(body) {
		if t := titleLine.FindSubmatch(line); t == nil || strings.Trim(string(t[1]), "'\" \r") != m.title {
			writeItem(&list, strings.TrimLeft(string(line), "- \t"))
		}
	}
	m.text = list.String()
	end := bytes.Index(head, body) + len(body)
	if n := bytes.IndexByte(head[end:], '\n'); n >= 0 {
		m.length = end + n + 1
	}
	return m
}

// fieldsOf takes the title, the first that is a scalar, from the fields and
// lists the others in their order. Switches (true, false) and fields without
// a value say nothing to a reader and are left out.
func fieldsOf(fields *yaml.Node) matter {
	var m matter
	var list strings.Builder
	for i := 0; i+1 < len(fields.Content); i += 2 {
		name, value := fields.Content[i], fields.Content[i+1]
		if m.title == "" && strings.EqualFold(name.Value, "title") && value.Kind == yaml.ScalarNode && value.ShortTag() != "!!null" {
			m.title = value.Value
			continue
		}
		if values := scalars(nil, value); len(values) > 0 {
			writeItem(&list, name.Value+": "+strings.Join(values, ", "))
		}
	}
	m.text = list.String()
	return m
}

// scalars appends the scalars below n in order, those of a mapping after
// their names. What an alias stands for is listed at its anchor, so that the
// list is no longer than its source.
func scalars(list []string, n *yaml.Node) []string {
	switch n.Kind {
	case yaml.ScalarNode:
		if tag := n.ShortTag(); n.Value != "" && tag != "!!null" && tag != "!!bool" {
			if tag == "!!timestamp" { // a date
				return append(list, strings.TrimSuffix(n.Value, "T00:00:00Z"))
			}
			list = append(list, n.Value)
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			list = scalars(list, c)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			first := len(list)
			if list = scalars(list, n.Content[i+1]); first < len(list) {
				list[first] = n.Content[i].Value + ": " + list[first]
			}
		}
	}
	return list
}

// writeItem adds a list item: one line, however many the text has.
func writeItem(list *strings.Builder, text string) {
	if words := strings.Fields(text); len(words) > 0 {
		list.WriteString("- " + strings.Join(words, " ") + "\n")
	}
}

var (
	fieldLine = regexp.MustCompile(`^\s*[\pL_][\pL\pN_-]*\s*[:=]`)
	titleLine = regexp.MustCompile(`(?im)^title\s*[:=]\s*(.+)$`)
)

// asNode makes a decoder of maps one of YAML nodes.
func asNode(decode func(data []byte, v any) error) frontmatter.UnmarshalFunc {
	return func(data []byte, node any) error {
		fields := map[string]any{}
		if err := decode(data, &fields); err != nil {
			return err
		}
		return node.(*yaml.Node).Encode(fields)
	}
}

// jsonFields reads what stands between the braces of a JSON object.
func jsonFields(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(append(append([]byte("{"), data...), '}')))
	d.UseNumber() // keeps their digits
	return d.Decode(v)
}
