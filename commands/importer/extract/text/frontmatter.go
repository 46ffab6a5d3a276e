package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"
)

// MaxFrontMatter is the maximum number of bytes of front matter. Longer front matter is treated as
// text.
const MaxFrontMatter = 64 << 10

const (
	// Front matter beyond these limits is not parsed, because the time and memory of the parsers
	// grow with the square of its size, or faster.
	maxMatterDepth = 32
	maxMatterLines = 4_000
)

// matter is the front matter of a Markdown file: a block of metadata at its start.
type matter struct {
	title  string
	text   string // the other fields, as a Markdown list
	length int    // length of the front matter in bytes; 0 if the file has none
}

// matterFormat is a format of front matter, between a start line and an end line.
type matterFormat struct {
	start, end string
	decode     func(body []byte, fields *yaml.Node) error
	simple     func(body []byte) bool // reports whether a body is simple enough for decode
}

var matterFormats = []matterFormat{
	{"---", "---", func(body []byte, fields *yaml.Node) error { return yaml.Unmarshal(body, fields) }, simpleYAML},
	{"+++", "+++", asNode(toml.Unmarshal), simpleTOML},
	{"<!--{", "}-->", asNode(jsonFields), simpleJSON},
}

var errComplexMatter = errors.New("parse the front matter: it is nested too deeply or too long")

// frontMatter parses the front matter of a Markdown file: YAML, TOML, or JSON in a comment, as the
// source of Go's web site has it.
func frontMatter(source []byte) matter {
	head := source[:min(len(source), MaxFrontMatter)]
	format, start, end, length := matterBlock(head)
	if format == nil {
		return matter{}
	}
	body := head[start:end]
	fields, err := format.fields(body)
	isText := len(bytes.TrimSpace(body)) > 0 && (fields.Kind != yaml.MappingNode || len(fields.Content) == 0)
	switch {
	case err != nil: // may be front matter with a syntax error
		return brokenMatter(body, length)
	case isText && format.start == "---" && onlyComments(body):
	case isText: // text between two horizontal rules, not front matter
		return matter{}
	}
	m := fieldsOf(&fields)
	m.length = length
	return m
}

// Tags returns the tags in the front matter at the start of a Markdown file: the values of the field
// tags, which are a list, or a text with commas.
func Tags(head []byte) []string {
	head = bytes.TrimPrefix(head[:min(len(head), MaxFrontMatter)], []byte("\ufeff"))
	format, start, end, _ := matterBlock(head)
	if format == nil {
		return nil
	}
	fields, err := format.fields(head[start:end])
	if err != nil {
		return nil
	}
	for i := 0; i+1 < len(fields.Content); i += 2 {
		if !strings.EqualFold(fields.Content[i].Value, "tags") {
			continue
		}
		value := fields.Content[i+1]
		all := scalars(nil, value)
		if value.Kind == yaml.ScalarNode {
			all = strings.Split(strings.Join(all, ","), ",")
		}
		for k := range all {
			all[k] = strings.TrimSpace(all[k])
		}
		return slices.DeleteFunc(all, func(tag string) bool { return tag == "" })
	}
	return nil
}

// fields decodes the body of a block.
func (f *matterFormat) fields(body []byte) (fields yaml.Node, err error) {
	err = errComplexMatter
	if bytes.Count(body, []byte("\n")) <= maxMatterLines && f.simple(body) {
		err = f.decode(body, &fields)
	}
	if fields.Kind == yaml.DocumentNode {
		fields = *fields.Content[0]
	}
	return fields, err
}

// matterBlock returns the start and end of the front matter in the head of a file, and its length
// including the start and end lines. format is nil if there is none.
func matterBlock(head []byte) (format *matterFormat, start, end, length int) {
	for at := 0; at < len(head); {
		next := lineEnd(head, at)
		line := string(bytes.TrimSpace(head[at:next]))
		switch {
		case format != nil && line == format.end:
			return format, start, at, next
		case format != nil || line == "":
		default:
			i := slices.IndexFunc(matterFormats, func(f matterFormat) bool { return f.start == line })
			if i < 0 {
				return nil, 0, 0, 0
			}
			format, start = &matterFormats[i], next
		}
		at = next
	}
	return nil, 0, 0, 0
}

// simpleYAML reports whether a block is simple enough to parse. It counts brackets, including
// those in strings, and how many lists and keys start on the same line.
func simpleYAML(body []byte) bool {
	for line := range bytes.Lines(body) {
		marks := 0
		for rest := bytes.TrimLeft(line, " "); len(rest) > 1 && strings.IndexByte("-?:", rest[0]) >= 0 && rest[1] == ' '; marks++ {
			rest = bytes.TrimLeft(rest[1:], " ")
		}
		if marks > maxMatterDepth {
			return false
		}
	}
	depth := 0
	for _, c := range body {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxMatterDepth {
			return false
		}
	}
	return true
}

func simpleJSON(body []byte) bool { return simpleNesting(body, `"`, "") }
func simpleTOML(body []byte) bool { return simpleNesting(body, `"'`, "#") }

// simpleNesting reports whether a block is simple enough to parse. It counts brackets, and the
// dots of a name, outside of strings and comments. quotes are the characters that delimit strings;
// a backslash is an escape only in double quotes.
func simpleNesting(body []byte, quotes, comment string) bool {
	depth, dots := 0, 0
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case strings.IndexByte(quotes, c) >= 0:
			i += stringLength(body[i:], comment != "") - 1
		case strings.IndexByte(comment, c) >= 0:
			i = lineEnd(body, i) - 1
			dots = 0
		case c == '.':
			dots++
		case c == '[' || c == '{':
			depth++
			dots = 0
		case c == ']' || c == '}':
			depth = max(0, depth-1)
			dots = 0
		case c == '=' || c == ',' || c == '\n':
			dots = 0
		}
		if depth > maxMatterDepth || dots > maxMatterDepth {
			return false
		}
	}
	return true
}

// stringLength returns the length of the string at the start of b, including its quotes. If the
// closing quote is missing, the string extends to the end of the line, or of b.
func stringLength(b []byte, triples bool) int {
	quote := b[:1]
	if triples && len(b) >= 3 && b[1] == b[0] && b[2] == b[0] {
		quote = b[:3]
	}
	for i := len(quote); i < len(b); i++ {
		switch {
		case b[i] == '\\' && b[0] == '"':
			i++
		case bytes.HasPrefix(b[i:], quote):
			return i + len(quote)
		case b[i] == '\n' && len(quote) == 1:
			return i
		}
	}
	return len(b)
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

// brokenMatter returns front matter that cannot be parsed; its text is a list of its lines.
func brokenMatter(body []byte, length int) matter {
	if !fieldLine.Match(body) {
		return matter{}
	}
	m := matter{length: length}
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
	return m
}

// fieldsOf returns the first title that is a scalar, and lists the other fields in their order. It
// leaves out fields whose value is missing or a boolean.
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

// scalars appends the scalars below n in order; a scalar in a mapping follows the name of its
// field. It skips aliases, because their value is listed at the anchor. So the list cannot be
// larger than the source.
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

// writeItem adds text as a line of a list.
func writeItem(list *strings.Builder, text string) {
	if words := strings.Fields(text); len(words) > 0 {
		list.WriteString("- " + strings.Join(words, " ") + "\n")
	}
}

var (
	fieldLine = regexp.MustCompile(`^\s*[\pL_][\pL\pN_-]*\s*[:=]`)
	titleLine = regexp.MustCompile(`(?im)^title\s*[:=]\s*(.+)$`)
)

// asNode turns a decoder that fills maps into a decoder that fills YAML nodes.
func asNode(decode func(data []byte, v any) error) func([]byte, *yaml.Node) error {
	return func(data []byte, node *yaml.Node) error {
		fields := map[string]any{}
		if err := decode(data, &fields); err != nil {
			return err
		}
		return node.Encode(fields)
	}
}

// jsonFields decodes the text between the braces of a JSON object.
func jsonFields(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(append(append([]byte("{"), data...), '}')))
	d.UseNumber() // keeps the digits of numbers
	return d.Decode(v)
}
