package support

import "regexp"

// Patterns of instructions to those who read a document for somebody else, in English, German and French. They match texts
// in lower case.
const (
	// begins matches before a word with which a sentence or a part of it begins.
	begins = `(?:^|[,.:;!–—-]\s*["“„«]?)`
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
