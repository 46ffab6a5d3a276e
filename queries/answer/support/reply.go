package support

import (
	"regexp"
	"slices"
	"strings"

	"annals/queries/answer/words"
)

// yesNo matches the word with which a sentence may answer a question before it says why.
var yesNo = regexp.MustCompile(`^(?i:(yes)|no)\s*[,.:;–—]\s*`)

// replied returns the word "yes" or "no" with which a sentence begins, or "", and the sentence without it.
func replied(sentence string) (reply, rest string) {
	at := yesNo.FindStringSubmatchIndex(sentence)
	switch {
	case at == nil:
		return "", sentence
	case at[2] >= 0:
		return "yes", sentence[at[1]:]
	}
	return "no", sentence[at[1]:]
}

// contradicts reports whether a claim says the opposite of the "yes" or "no" before it: a "yes" to what the claim denies, or a
// "no" to what it affirms with all words of the question.
func (s *Checker) contradicts(reply string, c *claim) bool {
	if reply == "" || s.asked.Denied {
		return false
	}
	if reply == "yes" {
		return c.Denied
	}
	known := make(map[string]bool)
	for _, t := range c.Tokens {
		if term, ok := s.asks(t); ok {
			known[term.Stem] = true
		}
	}
	for _, t := range s.asked.Terms {
		if !known[t.Stem] {
			return false
		}
	}
	return !c.Denied && !slices.ContainsFunc(c.limits, func(i int) bool { return limiting[c.Tokens[i].Lower] == "only" })
}

var (
	// thousands matches a number whose thousands are separated: "35 000", "35,000".
	thousands = regexp.MustCompile(`(?:^|[^\pL\d.,+-])(\d{1,3}(?:[, \x{a0}\x{2009}\x{202f}]\d{3})+)(?:$|[^\pL\d])`)
	// phone matches a phone number with a country code, one that begins with 0, or one like (212) 555-0100.
	phone = regexp.MustCompile(`\+\d{1,3}(?:[ ./()\x{a0}-]{1,3}\d+){1,6}|\b0\d{2,4}(?:[ /\x{a0}-]\d{2,}){1,5}|\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b`)
	// spacing matches what may stand between the digits of a number.
	spacing = regexp.MustCompile(`[^+\d]+`)
)

// isPhone reports whether a number has as many digits as a phone number.
func isPhone(t *words.Token) bool {
	return len(t.Lower) >= 7 && strings.Trim(t.Lower, "0123456789") == ""
}

// ringing are words that tell that a number is of a phone. They need not be beside it.
var ringing = words.Set("phone telephone tel mobile call ring dial number")

// canonical returns a text with one way to write the numbers that have several: without signs or spaces between the digits.
func canonical(text string) string {
	if !strings.ContainsAny(text, "0123456789") {
		return text
	}
	text = phone.ReplaceAllStringFunc(text, func(n string) string { return spacing.ReplaceAllString(n, "") })
	last := 0
	var b strings.Builder
	for _, at := range thousands.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[last:at[2]])
		b.WriteString(spacing.ReplaceAllString(text[at[2]:at[3]], ""))
		last = at[3]
	}
	b.WriteString(text[last:])
	return b.String()
}
