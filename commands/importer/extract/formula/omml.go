// Package formula turns the formulas of Office documents (OMML) and of OpenDocument and HTML (MathML) into
// the notation of LaTeX, which is how Markdown writes formulas. It imports extract/zipxml and
// events/fault.
package formula

import (
	"strings"
	"unicode/utf8"

	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"

	"golang.org/x/text/unicode/norm"
)

const maxFormula = 1 << 20 // bytes of a formula

// OMML returns the open m:oMath or m:oMathPara, between dollar signs. It returns "" for an empty
// formula.
func OMML(x *zipxml.Part) (string, error) {
	text, err := formula(x)
	return delimited(text), err
}

// delimited returns a formula between dollar signs.
func delimited(text string) string {
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return ""
	}
	return "$" + text + "$"
}

// formula returns the children of the open element, one after the other.
func formula(x *zipxml.Part) (string, error) {
	var out strings.Builder
	err := x.Children(func(e *zipxml.Element) error {
		text, err := formulaElement(x, e)
		out.WriteString(text)
		if out.Len() > maxFormula && err == nil {
			err = fault.Errorf(fault.Invalid, "a formula in the file has more than %d bytes: divide it, and upload the new file", maxFormula)
		}
		return err
	})
	return out.String(), err
}

func formulaElement(x *zipxml.Part, e *zipxml.Element) (string, error) {
	switch e.Name {
	case "m:t", "w:t", "a:t":
		text, err := x.Text()
		return symbols(text), err
	case "m:r":
		return formulaRun(x)
	case "w:del", "w:moveFrom", "m:rPr", "w:rPr", "a:rPr", "m:ctrlPr", "m:oMathParaPr":
		return "", x.Skip()
	case "m:f", "m:sSup", "m:sSub", "m:sSubSup", "m:sPre", "m:rad", "m:d", "m:nary", "m:limLow", "m:limUpp", "m:func", "m:m", "m:eqArr", "m:acc", "m:bar", "m:groupChr", "m:borderBox":
		return formulaObject(x, e.Local)
	case "m:oMath":
		text, err := formula(x)
		return text + " ", err
	}
	return formula(x)
}

// formulaRun returns the text of the open m:r, which may be marked as ordinary text.
func formulaRun(x *zipxml.Part) (string, error) {
	var out strings.Builder
	ordinary := false
	err := x.Children(func(e *zipxml.Element) error {
		switch e.Name {
		case "m:rPr":
			return x.Children(func(p *zipxml.Element) error {
				ordinary = ordinary || p.Name == "m:nor"
				return x.Skip()
			})
		case "m:t":
			text, err := x.Text()
			if ordinary && strings.TrimSpace(text) != "" {
				out.WriteString(`\text{` + escapeTeX.Replace(text) + `}`)
			} else {
				out.WriteString(symbols(text))
			}
			return err
		}
		return x.Skip()
	})
	return out.String(), err
}

// formulaObject returns the open object of a formula, such as a fraction, with its arguments.
func formulaObject(x *zipxml.Part, object string) (string, error) {
	args := map[string][]string{}
	set := map[string]string{}
	err := x.Children(func(e *zipxml.Element) error {
		switch {
		case strings.HasSuffix(e.Local, "Pr"):
			return x.Children(func(c *zipxml.Element) error {
				set[c.Local] = c.Attr("val")
				return x.Skip()
			})
		case e.Local == "mr": // a row of a matrix
			var cells []string
			err := x.Children(func(*zipxml.Element) error {
				text, err := formula(x)
				cells = append(cells, strings.TrimSpace(text))
				return err
			})
			args["mr"] = append(args["mr"], strings.Join(cells, " & "))
			return err
		}
		text, err := formula(x)
		args[e.Local] = append(args[e.Local], strings.TrimSpace(text))
		return err
	})
	arg := func(name string) string { return strings.Join(args[name], " ") }
	base := func() string { return grouped(arg("e")) }
	chosen := func(name, usual string) string {
		if c, ok := set[name]; ok {
			return c
		}
		return usual
	}
	switch object {
	case "f":
		switch set["type"] {
		case "lin", "skw":
			return grouped(arg("num")) + "/" + grouped(arg("den")), err
		case "noBar":
			return "{" + arg("num") + ` \atop ` + arg("den") + "}", err
		}
		return `\frac{` + arg("num") + "}{" + arg("den") + "}", err
	case "rad":
		if deg := arg("deg"); deg != "" {
			return `\sqrt[` + deg + "]{" + arg("e") + "}", err
		}
		return `\sqrt{` + arg("e") + "}", err
	case "d":
		separator := " " + symbols(chosen("sepChr", "|")) + " "
		return `\left` + delimiter(chosen("begChr", "(")) + " " + strings.Join(args["e"], separator) + ` \right` + delimiter(chosen("endChr", ")")), err
	case "nary":
		return symbols(chosen("chr", "∫")) + index("_", arg("sub")) + index("^", arg("sup")) + "{" + arg("e") + "}", err
	case "limLow":
		if strings.HasPrefix(arg("e"), `\`) {
			return arg("e") + index("_", arg("lim")) + " ", err
		}
		return `\underset{` + arg("lim") + "}{" + arg("e") + "} ", err
	case "limUpp":
		return `\overset{` + arg("lim") + "}{" + arg("e") + "} ", err
	case "func":
		return functionName(arg("fName")) + "{" + arg("e") + "}", err
	case "m":
		return `\begin{matrix} ` + strings.Join(args["mr"], ` \\ `) + ` \end{matrix}`, err
	case "eqArr":
		return `\begin{aligned} ` + strings.Join(args["e"], ` \\ `) + ` \end{aligned}`, err
	case "acc":
		if accent := accents[chosen("chr", "\u0302")]; accent != "" {
			return accent + "{" + arg("e") + "}", err
		}
		return arg("e"), err
	case "bar":
		if set["pos"] == "top" {
			return `\overline{` + arg("e") + "}", err
		}
		return `\underline{` + arg("e") + "}", err
	case "groupChr":
		if set["pos"] == "top" {
			return `\overbrace{` + arg("e") + "}", err
		}
		return `\underbrace{` + arg("e") + "}", err
	case "borderBox":
		return `\boxed{` + arg("e") + "}", err
	case "sPre":
		return "{}" + index("_", arg("sub")) + index("^", arg("sup")) + base(), err
	}
	return base() + index("_", arg("sub")) + index("^", arg("sup")), err
}

// index returns an index or exponent, or "" if it is empty.
func index(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + "{" + text + "}"
}

// grouped returns text as a single unit.
func grouped(text string) string {
	if utf8.RuneCountInString(text) <= 1 || strings.HasPrefix(text, `\`) && !strings.ContainsAny(text, " {^_") {
		return text
	}
	return "{" + text + "}"
}

// delimiter returns what follows \left or \right.
func delimiter(char string) string {
	switch char {
	case "":
		return "."
	case "{", "}", "‖":
		return map[string]string{"{": `\{`, "}": `\}`, "‖": `\|`}[char]
	}
	return strings.TrimSpace(symbols(char))
}

// functionName returns the command for a function that LaTeX knows.
func functionName(name string) string {
	plain, rest, _ := strings.Cut(name, "_")
	if plain, power, ok := strings.Cut(name, "^"); ok && functions[strings.Trim(plain, "{}")] {
		return `\` + strings.Trim(plain, "{}") + "^" + power
	}
	if !functions[strings.Trim(plain, "{}")] {
		if inner, ok := strings.CutPrefix(name, `\underset{`); ok { // a limit
			if low, word, ok := strings.Cut(strings.TrimSpace(inner), "}{"); ok && functions[strings.TrimSuffix(word, "}")] {
				return `\` + strings.TrimSuffix(word, "}") + "_{" + low + "}"
			}
		}
		return name
	}
	if rest != "" {
		rest = "_" + rest
	}
	return `\` + strings.Trim(plain, "{}") + rest
}

var functions = words("sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan log ln lg exp lim max min sup inf det dim ker gcd deg arg Pr")

func words(list string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(list) {
		all[w] = true
	}
	return all
}

// accents are the commands for combining characters.
var accents = map[string]string{
	"\u0302": `\hat`, "\u0303": `\widetilde`, "\u0304": `\bar`, "\u0305": `\overline`, "\u0306": `\breve`, "\u0307": `\dot`, "\u0308": `\ddot`,
	"\u030c": `\check`, "\u0300": `\grave`, "\u0301": `\acute`, "\u20d7": `\vec`, "\u20d6": `\overleftarrow`, "\u0332": `\underline`, "\u20db": `\dddot`,
}

var escapeTeX = strings.NewReplacer(`\`, `\backslash `, "{", `\{`, "}", `\}`, "#", `\#`, "$", `\$`, "%", `\%`, "_", `\_`, "\n", " ")

// symbols returns a text of a formula with commands for its symbols. Letters in the bold, italic
// and other alphabets of mathematics become plain letters.
func symbols(text string) string {
	text = escapeTeX.Replace(text)
	plain := true
	for i := range len(text) {
		plain = plain && text[i] < utf8.RuneSelf
	}
	if plain {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if r >= 0x1d400 && r <= 0x1d7ff { // the alphabets of mathematics
			r, _ = utf8.DecodeRuneInString(norm.NFKC.String(string(r)))
		}
		if name := commands[r]; name != "" {
			out.WriteString(`\` + name + " ")
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// commands are the names of symbols.
var commands = commandNames(`α alpha β beta γ gamma δ delta ε varepsilon ϵ epsilon ζ zeta η eta θ theta ϑ vartheta ι iota κ kappa λ lambda μ mu ν nu ξ xi π pi ρ rho ϱ varrho σ sigma ς varsigma
τ tau υ upsilon φ varphi ϕ phi χ chi ψ psi ω omega Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega ∑ sum ∏ prod ∐ coprod ∫ int ∬ iint ∭ iiint ∮ oint ⋃ bigcup ⋂ bigcap ⋁ bigvee ⋀ bigwedge
× times ÷ div ± pm ∓ mp · cdot ⋅ cdot ∙ bullet ∘ circ ° circ ∗ ast ≤ leq ≥ geq ≠ neq ≈ approx ≡ equiv ∼ sim ≃ simeq ≅ cong ∝ propto ≪ ll ≫ gg ∞ infty ∂ partial ∇ nabla ∈ in ∉ notin ∋ ni ⊂ subset ⊃ supset ⊆ subseteq ⊇ supseteq ∪ cup ∩ cap
∖ setminus ∅ varnothing ∀ forall ∃ exists ∄ nexists ¬ neg ∧ land ∨ lor ⊕ oplus ⊗ otimes ⊥ bot ⊢ vdash ⊨ models → rightarrow ← leftarrow ↔ leftrightarrow ⇒ Rightarrow ⇐ Leftarrow ⇔ Leftrightarrow ↦ mapsto ↑ uparrow ↓ downarrow
… ldots ⋯ cdots ⋮ vdots ⋱ ddots ′ prime ∠ angle ∥ parallel ∣ mid √ surd ℏ hbar ℓ ell ℜ Re ℑ Im ℵ aleph ⟨ langle ⟩ rangle ⌊ lfloor ⌋ rfloor ⌈ lceil ⌉ rceil ‖ Vert ∴ therefore ∵ because`)

func commandNames(list string) map[rune]string {
	all := map[rune]string{}
	fields := strings.Fields(list)
	for i := 0; i+1 < len(fields); i += 2 {
		r, _ := utf8.DecodeRuneInString(fields[i])
		all[r] = fields[i+1]
	}
	return all
}
