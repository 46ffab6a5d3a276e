package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/events/prose"
)

// foreign has the question words of some languages other than English, each with the function
// words that a question in that language has besides.
var foreign = func() (all [][2]map[string]bool) {
	for _, language := range [][2]string{
		{"quel quelle quels quelles quand où pourquoi combien quoi lequel laquelle lesquels est-ce", "qui que comment est sont était a ont le la les l d un une des du de au aux en et dans sur pour par il elle ils elles on ce cette ces se sa son ses y je vous nous doit peut"},
		{"wer wen wem wie wo wann warum wieso weshalb welche welcher welches welchen welchem wieviel wohin woher womit wofür ist sind", "was der die das den dem des ein eine einen einem einer eines im in am an auf zu zum zur von vom für mit bei und es er sie wird werden wurde wurden hat haben kann muss darf man ich wir viele viel lange"},
		{"qué cuál cuáles quién quiénes cuándo dónde cuánto cuánta cuántos cuántas", "cómo por es son era está están fue el la los las un una de del al en y se su para con lo ha han puede debe"},
		{"chi quando dove perché quale quali qual quanto quanta quanti quante", "che cosa come è sono era il lo la i gli le un una di del della dei delle al alla in nel nella e si su per con ha hanno può deve"},
		{"quem onde quais quanto quantos quantas", "qual que quando como é são foi o a os as um uma de do da dos das em no na nos nas e se para com por tem pode deve"},
		{"wanneer waarom waar hoe hoeveel welke wie", "wat is zijn was de het een van in op aan te voor met en er kan moet wordt worden"},
		{"кто что где когда почему зачем как какой какая какое какие каков какова сколько куда откуда чей", "в во на по с со и а к у о об из для за не ли это есть был была было были"},
	} {
		all = append(all, [2]map[string]bool{plainSet(language[0]), plainSet(language[1])})
	}
	return all
}()

// plainSet is Set of the words as Tokenize returns them.
func plainSet(list string) map[string]bool { return Set(Plain(list)) }

// Foreign returns which tokens of a question are question words or other function words of
// another language than English. It returns nil if the question is in English or in a
// language that is not known.
func Foreign(question []Token) func(*Token) bool {
	var known *[2]map[string]bool
	for i := range question {
		t := &question[i]
		if t.Class == prose.Interrogative {
			return nil
		}
		if isHiragana(t.Lower) {
			return func(t *Token) bool { return isHiragana(t.Lower) || strings.ContainsAny(t.Lower, "誰何") }
		}
		for k := range foreign {
			if known == nil && foreign[k][0][t.Lower] {
				known = &foreign[k]
			}
		}
	}
	if known == nil {
		return nil
	}
	return func(t *Token) bool { return known[0][t.Lower] || known[1][t.Lower] }
}

// isHiragana reports whether a word is in the script of the endings and particles of Japanese.
func isHiragana(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.Is(unicode.Hiragana, r)
}
