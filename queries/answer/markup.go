package answer

import (
	"regexp"
	"strings"
)

// Markup of inline Markdown. Emphasis with underscores is removed only around whole words,
// because names such as max_size have underscores inside.
var (
	markupCode     = regexp.MustCompile("`+([^`]+)`+")
	markupLink     = regexp.MustCompile(`!?\[([^\[\]]*)\](?:\([^()\s]*(?:\([^()]*\)[^()\s]*)?(?:\s"[^"]*")?\)|\[[^\[\]]*\])`)
	markupTag      = regexp.MustCompile(`</?(?:a|abbr|b|br|center|cite|code|dd|div|dl|dt|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|q|s|small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul|var)(?:\s[^<>]*)?/?>|<!--[^<>]*-->|\{#[\w.-]+\}`)
	markupEmphasis = regexp.MustCompile(`\*{1,3}([^\s*](?:[^*]*[^\s*])?)\*{1,3}|\b_{1,2}([^\s_](?:[^_]*[^\s_])?)_{1,2}\b`)
	markupEscape   = regexp.MustCompile(`\\([!-/:-@\[-` + "`" + `{-~])`)
	markupQuote    = regexp.MustCompile(`(?m)^\s*>+\s?`)
)

// unmarked returns a text without inline markup, and with white space collapsed. What is
// marked as code stays as it is.
func unmarked(text string) string {
	if strings.ContainsAny(text, "[<>{*_`\\") {
		text = markupLink.ReplaceAllString(markupQuote.ReplaceAllString(text, ""), "$1")
		var b strings.Builder
		last := 0
		for _, at := range markupCode.FindAllStringSubmatchIndex(text, -1) {
			b.WriteString(unmarkedProse(text[last:at[0]]))
			b.WriteString(text[at[2]:at[3]])
			last = at[1]
		}
		b.WriteString(unmarkedProse(text[last:]))
		text = b.String()
	}
	return strings.Join(strings.Fields(text), " ")
}

func unmarkedProse(text string) string {
	text = markupTag.ReplaceAllString(text, "")
	text = markupEmphasis.ReplaceAllString(text, "$1$2")
	return markupEscape.ReplaceAllString(text, "$1")
}
