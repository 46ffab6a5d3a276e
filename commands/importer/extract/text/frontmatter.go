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

const (
	maxFrontMatter = 64 << 10 // bytes; a longer one is text
	// Metadata that is nested deeper or longer than people write it is not parsed,
	// because the time and memory of parsers grow with its square, or worse.
	maxMatterDepth = 32
	maxMatterLines = 4_000
)

// matter is the block of metadata that a Markdown file begins with.
type matter struct {
	title  string
	text   string // the other fields, as a Markdown list
	length int    // of the block, in bytes; 0 if the file has none
}

// matterFormat is one way to write metadata: a line before it, and one after.
type matterFormat struct {
	start, end string
	decode     func(body []byte, fields *yaml.Node) error
	simple     func(body []byte) bool
}

var matterFormats = []matterFormat{
	{"---", "---", func(body []byte, fields *yaml.Node) error { return yaml.Unmarshal(body, fields) }, simpleYAML},
	{"+++", "+++", asNode(toml.Unmarshal), simpleTOML},
	{"<!--{", "}-->", asNode(jsonFields), simpleJSON},
}

var errHardMatter = errors.New("the metadata is nested too deep or too long")

// frontMatter reads the block of metadata that a Markdown file begins with
// (YAML, TOML, or JSON in a comment, as Go's own site has it).
func frontMatter(source []byte) matter {
	head := source[:min(len(source), maxFrontMatter)]
	format, start, end, length := matterBlock(head)
	if format == nil {
		return matter{}
	}
	body := head[start:end]
	var fields yaml.Node
	err := errHardMatter
	if bytes.Count(body, []byte("\n")) <= maxMatterLines && format.simple(body) {
		err = format.decode(body, &fields)
	}
	if fields.Kind == yaml.DocumentNode {
		fields = *fields.Content[0]
	}
	isText := len(bytes.TrimSpace(body)) > 0 && (fields.Kind != yaml.MappingNode || len(fields.Content) == 0)
	switch {
	case err != nil: // broken, but metadata all the same if it looks so
		return brokenMatter(body, length)
	case isText && format.start == "---" && onlyComments(body):
	case isText: // between two rules
		return matter{}
	}
	m := fieldsOf(&fields)
	m.length = length
	return m
}

// matterBlock returns where metadata begins and ends in the head of a file, and where
// the text after it begins; format is nil if there is none.
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

// simpleYAML reports whether a block is simple enough to parse. It counts brackets, even in
// strings, and the lists and keys that begin on one line.
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

// simpleNesting reports whether a block is simple enough to parse. It counts brackets and
// the dots of a name, outside of strings and comments. A backslash escapes within double
// quotes.
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

// stringLength returns the length of the string that b begins with, including its quotes. A
// string without an end extends to the end of its line, or of b.
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

// brokenMatter keeps the lines of metadata that cannot be parsed.
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
// their names. The value of an alias is listed at its anchor only, which bounds the
// list by the size of its source.
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

// writeItem adds text as one line of a list.
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
func asNode(decode func(data []byte, v any) error) func([]byte, *yaml.Node) error {
	return func(data []byte, node *yaml.Node) error {
		fields := map[string]any{}
		if err := decode(data, &fields); err != nil {
			return err
		}
		return node.Encode(fields)
	}
}

// jsonFields reads the text between the braces of a JSON object.
func jsonFields(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(append(append([]byte("{"), data...), '}')))
	d.UseNumber() // keeps their digits
	return d.Decode(v)
}
