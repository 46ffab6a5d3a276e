package support

import (
	"regexp"
	"slices"
	"strings"
)

// Patterns of instructions to those who read a document for somebody else, in English, German and French. They match texts
// in lower case.
const (
	// begins matches before a word with which a sentence or a part of it begins: not in "main.go" or "e-mail".
	begins = `(?:^|[,:;!–—]\s*|[.-]\s+)["“„«]?`
	// readers are those whom such an instruction addresses: not the people of the document.
	readers = `(?:(?:ai|ki|ia|language|sprach|large)[ -]?)*(?:assistants?|assistent(?:en|in)?|chatbots?|llms?|models?|modell|modèle|agents?|system|ai|ki|ia|gpt)`
	// replying are imperatives for what they shall do.
	replying = `(?:reply|answer|respond|say|write|tell|repeat|output|print|state|claim|describe|pretend|refer|mention|` +
		`antworten?|antwortet|schreiben?|schreibt?|sagen?|sagt?|wiederholen?|erwähnen?|behaupten?|` +
		`réponds|répondez|répondre|écris|écrivez|dis|dites|répète|répétez|affirme|affirmez|mentionne|mentionnez)(?:$|[^\pL])`
	// ignoring are imperatives for what they shall not do any longer.
	ignoring = `(?:ignore|ignor(?:iere|iert|ieren|ez)|disregard|forget|override|vergiss|vergesst|vergessen|missachten?|oublie|oubliez)(?:$|[^\pL])`
	// always are words before an imperative, or behind it.
	always = `(?:from now on|henceforth|ab jetzt|ab sofort|von nun an|künftig|désormais|dorénavant|à partir de maintenant)`
)

var (
	addressing   = regexp.MustCompile(`^[^\pL]*(?:(?:dear|hello|hey|note to|attention|liebe[rs]?|an|cher|chère|à)[ :]+(?:the |all |any |alle |den |die |das |l['’])?)?` + readers + `\s*[,:;!–—-]`)
	ordering     = regexp.MustCompile(begins + `(?:` + always + `,? )?(?:please |bitte |always |immer |you must |you should |du musst |sie müssen |vous devez |tu dois )?` + `(?:` + replying + `|` + ignoring + `)`)
	lasting      = regexp.MustCompile(`(?:^|[^\pL])` + always + `(?:$|[^\pL])`)
	inAnswers    = regexp.MustCompile(`(?:^| )(?:in|dans) (?:\pL+ )?(?:answers?|repl(?:y|ies)|responses?|antwort(?:en)?|réponses?)(?:$|[^\pL])`)
	overriding   = regexp.MustCompile(begins + `(?:please |bitte )?` + ignoring + `.{0,60}(?:instructions?|prompts?|anweisung(?:en)?|consignes?)(?:$|[^\pL])`)
	onInstructed = regexp.MustCompile(`answer|repl(?:y|ies)|respon|instruct|prompt|antwort|anweis|répon|consigne`)
)

// instructs reports whether a sentence, in lower case, tells its reader what to answer, rather than something: it addresses an
// assistant, says what to do from now on or in answers, or that instructions do not hold. Only the first is no answer to
// a question about answers or instructions.
func instructs(sentence string, asked bool) bool {
	orders := ordering.MatchString(sentence)
	return orders && addressing.MatchString(sentence) ||
		!asked && (orders && (lasting.MatchString(sentence) || inAnswers.MatchString(sentence)) || overriding.MatchString(sentence))
}

// Patterns of descriptions that send their reader somewhere. They match texts in lower case.
var (
	// compelling are words that tell people what they have to do.
	compelling = regexp.MustCompile(`(?:^|[^\pL])(?:must|should|shall|ought|please|kindly|(?:have|has|need|needs) to|(?:are|is) to be|required|requested|obliged|urged|advised|asked|told|instructed|invited|` +
		`muss|müssen|musst|müsst|soll|sollen|sollte|sollten|sollst|bitte|gebeten|aufgefordert|(?:ist|sind|hat|haben) .{0,120} zu|` +
		`dois|doit|doivent|devez|devons|devraient|faut|veuillez|prière de|merci de|priée?s?|invitée?s?)(?:$|[^\pL])`)
	// doing are verbs of what such a text wants to be done.
	doing = `(?:e?-?mail (?:(?:us|me|him|her|them|it|this|your|the|an?|any|all|to|at) |\S*@)|(?:send|visit|click|enter|go|log|sign|open|follow|download|install|write|reply|call|ring|contact|pay|transfer|wire|submit|upload|register|confirm|verify|give|tell|see|` +
		`senden?|sendet|schicken?|schickt|besuchen?|besucht|klicken?|klickt|gehen?|geht|öffnen?|öffnet|folgen?|folgt|schreiben?|schreibt|rufen?|ruft|zahlen?|zahlt|überweisen?|überweist|bestätigen?|bestätigt|geben?|gebt|melden?|meldet|laden?|ladet|` +
		`envoyez|visitez|cliquez|saisissez|allez|ouvrez|suivez|téléchargez|écrivez|appelez|contactez|payez|versez|confirmez|connectez|inscrivez|transmettez|rendez|envoyer|visiter|cliquer|saisir|appeler|écrire|payer|verser)(?:$|[^\pL]))`
	// imperative matches such a verb at the beginning of a part of a sentence, or after "to" that tells no place or way: "how to send" describes.
	imperative = regexp.MustCompile(`(?:` + begins + `|(?:^|[^\pL])(?:and|then|or|und|dann|oder|et|puis|ou) )` + doing)
	infinitive = regexp.MustCompile(`(\pL*)[^\pL]to ` + doing)
	manner     = regexp.MustCompile(`^(?:how|where|when|which|what|whom|whether)$`)
	// spoken matches what stands in quotation marks, if it has several words.
	spoken = regexp.MustCompile(`["“”„«»‟‘‚‹›]\s*[^"“”„«»‟‘‚‹›]*\s[^"“”„«»‟‘‚‹›]*["“”„«»‟’‘‹›]`)
)

// Directs reports whether a description tells its reader to turn to a host, a mail address or a phone number: it has one, and an order
// or quoted speech. Readers take what stands beside a document for words of the service, not of the author of that
// document.
func Directs(description string) bool {
	turns := func(text string) bool { return len(links(text)) > 0 || phone.MatchString(text) }
	if !turns(description) {
		return false
	}
	lower := strings.ToLower(description)
	for _, m := range infinitive.FindAllStringSubmatch(lower, -1) {
		if !manner.MatchString(m[1]) {
			return true
		}
	}
	return compelling.MatchString(lower) || imperative.MatchString(lower) || slices.ContainsFunc(spoken.FindAllString(lower, -1), turns)
}
