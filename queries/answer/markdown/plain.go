// Package markdown cuts the text of a passage, which is Markdown, into sentences, list items,
// table rows and code blocks, and removes inline markup.
//
// It imports events/prose.
package markdown

import (
	"regexp"
	"strings"
)

// Markup of inline Markdown. Emphasis with underscores is removed only around whole words,
// because names such as max_size have underscores inside. Emphasis and code may go on in
// the next line.
var (
	markupCode     = regexp.MustCompile("`([^`\n]+(?:\n[^`\n]+)?)`")
	markupLink     = regexp.MustCompile(`!?\[([^\[\]]*)\](?:\([^()\s]*(?:\([^()]*\)[^()\s]*)?(?:\s"[^"]*")?\)|\[[^\[\]]*\])`)
	markupTag      = regexp.MustCompile(`</?(?:a|abbr|b|br|center|cite|code|dd|div|dl|dt|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|q|s|small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul|var)(?:\s[^<>]*)?/?>|<!--[^<>]*-->|\{#[\w.-]+\}`)
	markupEmphasis = regexp.MustCompile(`\*{1,3}([^\s*](?:[^*\n]*(?:\n[^*\n]*)?[^\s*])?)\*{1,3}|\b_{1,2}([^\s_](?:[^_\n]*(?:\n[^_\n]*)?[^\s_])?)_{1,2}\b`)
	markupEscape   = regexp.MustCompile(`\\([!-/:-@\[-` + "`" + `{}~])`)
	markupCut      = regexp.MustCompile(`!?\[([^\[\]\n]*)\]\([^()\s]*$`) // the text ends in a link
	// Includes and shortcodes of mdBook, Hugo, Jinja and Liquid, calls of Go templates such as {{image "a.png"}}, and lines
	// that are nothing else.
	markupInclude     = regexp.MustCompile(shortcode)
	markupIncludeLine = regexp.MustCompile(`(?m)^[ \t]*(?:` + shortcode + `)[ \t]*\n`)
	markupQuote       = regexp.MustCompile(`(?m)^ {0,3}>+ ?`)
)

const shortcode = `\{\{[#<%][^{}\n]*\}\}|\{\{\s*\w+\s+"[^{}\n]*\}\}|\{%[^{}\n]*%\}`

// Plain returns a text in Markdown without inline markup. Lines stay lines, and what is
// marked as code stays as it is, but for lines that only include other files.
func Plain(text string) string {
	if !strings.ContainsAny(text, "[<>{*_`\\") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i, block := range strings.SplitAfter(text, "```") {
		if i%2 == 1 { // a fenced block
			b.WriteString(markupIncludeLine.ReplaceAllString(block, ""))
			continue
		}
		prose, fence := strings.CutSuffix(block, "```")
		prose = markupLink.ReplaceAllString(markupQuote.ReplaceAllString(prose, ""), "$1")
		prose = markupCut.ReplaceAllString(prose, "$1")
		last := 0
		for _, at := range markupCode.FindAllStringSubmatchIndex(prose, -1) {
			b.WriteString(plainProse(prose[last:at[0]]))
			b.WriteString(prose[at[2]:at[3]])
			last = at[1]
		}
		b.WriteString(plainProse(prose[last:]))
		if fence {
			b.WriteString("```")
		}
	}
	return b.String()
}

func plainProse(text string) string {
	text = markupInclude.ReplaceAllString(markupTag.ReplaceAllString(text, ""), "")
	text = markupEmphasis.ReplaceAllString(text, "$1$2")
	text = strings.ReplaceAll(text, "`", "") // its other half is in another passage, or it is one of several
	return markupEscape.ReplaceAllString(text, "$1")
}
