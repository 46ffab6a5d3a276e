package extract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/adrg/frontmatter"
	"gopkg.in/yaml.v2"
)

const maxFrontMatter = 64 << 10 // bytes; a longer one is text

// frontMatter reads the block of metadata that a Markdown file begins with
// (YAML, TOML, or JSON in a comment, as Go's own site has it). It returns the
// title given there and the length of the block, both zero if there is none.
func frontMatter(source []byte) (title string, length int) {
	head := source[:min(len(source), maxFrontMatter)]
	start := bytes.TrimLeft(head, "\r\n\t ")
	if !bytes.HasPrefix(start, []byte("---")) && !bytes.HasPrefix(start, []byte("+++")) && !bytes.HasPrefix(start, []byte("<!--{")) {
		return "", 0
	}
	fields := map[string]any{}
	body := []byte(nil)
	keep := func(decode frontmatter.UnmarshalFunc) frontmatter.UnmarshalFunc {
		return func(data []byte, v any) error { body = bytes.Clone(data); return decode(data, v) }
	}
	rest, err := frontmatter.Parse(bytes.NewReader(head), &fields,
		frontmatter.NewFormat("---", "---", keep(yaml.Unmarshal)),
		frontmatter.NewFormat("+++", "+++", keep(toml.Unmarshal)),
		frontmatter.NewFormat("<!--{", "}-->", keep(jsonFields)))
	switch {
	case body == nil:
		return "", 0
	case err != nil: // broken, but metadata all the same if it looks so
		if !fieldLine.Match(body) {
			return "", 0
		}
		if m := titleLine.FindSubmatch(body); m != nil {
			title = strings.Trim(string(m[1]), "'\" \r")
		}
		end := bytes.Index(head, body) + len(body)
		if n := bytes.IndexByte(head[end:], '\n'); n >= 0 {
			return title, end + n + 1
		}
		return title, len(head)
	case len(fields) == 0 && len(bytes.TrimSpace(body)) > 0: // a text between two rules
		return "", 0
	}
	for name, value := range fields {
		if s, ok := value.(string); ok && strings.EqualFold(name, "title") {
			title = s
		} else if strings.EqualFold(name, "title") && value != nil {
			title = fmt.Sprint(value)
		}
	}
	return title, len(head) - len(rest)
}

var (
	fieldLine = regexp.MustCompile(`^\s*[\pL_][\pL\pN_-]*\s*[:=]`)
	titleLine = regexp.MustCompile(`(?im)^title\s*[:=]\s*(.+)$`)
)

func jsonFields(data []byte, v any) error {
	return json.Unmarshal(append(append([]byte("{"), data...), '}'), v)
}
