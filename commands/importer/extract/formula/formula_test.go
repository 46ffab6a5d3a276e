package formula_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/formula"
	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

// read returns the formula in an XML part.
func read(t testing.TB, content string, parse func(*zipxml.Part) (string, error)) (string, error) {
	t.Helper()
	archive := extracttest.Archive(t, map[string]string{"a.xml": content})
	p, err := zipxml.Open(context.Background(), extract.File{ReaderAt: bytes.NewReader(archive), Size: int64(len(archive))}, "test file")
	if err != nil {
		t.Fatal(err)
	}
	x, err := p.Part("a.xml", zipxml.SmallPart)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	text := ""
	err = x.Root(func(*zipxml.Element) error {
		text, err = parse(x)
		return err
	})
	return text, err
}

func omml(t testing.TB, inner string) (string, error) {
	return read(t, `<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">`+inner+`</m:oMath>`, formula.OMML)
}

func r(text string) string { return `<m:r><m:t>` + text + `</m:t></m:r>` }

func arg(name, contents string) string { return `<m:` + name + `>` + contents + `</m:` + name + `>` }

func TestOMML(t *testing.T) {
	for name, c := range map[string]struct{ xml, want string }{
		"empty":       {"", ""},
		"fraction":    {arg("f", arg("num", r("a"))+arg("den", r("b"))), `$\frac{a}{b}$`},
		"linear":      {arg("f", `<m:fPr><m:type m:val="lin"/></m:fPr>`+arg("num", r("a+b"))+arg("den", r("c"))), `${a+b}/c$`},
		"binomial":    {arg("d", arg("e", arg("f", `<m:fPr><m:type m:val="noBar"/></m:fPr>`+arg("num", r("n"))+arg("den", r("k"))))), `$\left( {n \atop k} \right)$`},
		"scripts":     {arg("sSubSup", arg("e", r("x"))+arg("sub", r("i"))+arg("sup", r("2"))) + arg("sPre", arg("sub", r("1"))+arg("sup", r("2"))+arg("e", r("H"))), `$x_{i}^{2}{}_{1}^{2}H$`},
		"roots":       {arg("rad", `<m:radPr><m:degHide m:val="1"/></m:radPr>`+arg("deg", "")+arg("e", r("x"))) + arg("rad", arg("deg", r("3"))+arg("e", r("y"))), `$\sqrt{x}\sqrt[3]{y}$`},
		"sum":         {arg("nary", `<m:naryPr><m:chr m:val="∑"/></m:naryPr>`+arg("sub", r("i=1"))+arg("sup", r("n"))+arg("e", r("i"))), `$\sum _{i=1}^{n}{i}$`},
		"integral":    {arg("nary", arg("sub", "")+arg("sup", "")+arg("e", r("dx"))), `$\int {dx}$`},
		"delimiters":  {arg("d", `<m:dPr><m:begChr m:val="{"/><m:endChr m:val=""/><m:sepChr m:val=","/></m:dPr>`+arg("e", r("a"))+arg("e", r("b"))), `$\left\{ a , b \right.$`},
		"matrix":      {arg("m", arg("mr", arg("e", r("a"))+arg("e", r("b")))+arg("mr", arg("e", r("c"))+arg("e", r("d")))), `$\begin{matrix} a & b \\ c & d \end{matrix}$`},
		"equations":   {arg("eqArr", arg("e", r("x&amp;=1"))+arg("e", r("y&amp;=2"))), `$\begin{aligned} x&=1 \\ y&=2 \end{aligned}$`},
		"accents":     {arg("acc", `<m:accPr><m:chr m:val="⃗"/></m:accPr>`+arg("e", r("v"))) + arg("acc", arg("e", r("h"))) + arg("bar", `<m:barPr><m:pos m:val="top"/></m:barPr>`+arg("e", r("z"))), `$\vec{v}\hat{h}\overline{z}$`},
		"functions":   {arg("func", arg("fName", r("sin"))+arg("e", r("x"))) + arg("func", arg("fName", arg("limLow", arg("e", r("lim"))+arg("lim", r("x→0"))))+arg("e", r("x"))), `$\sin{x}\lim_{x\rightarrow 0}{x}$`},
		"symbols":     {r("α≤∞%") + r("𝑥_"), `$\alpha \leq \infty \%x\_$`},
		"text":        {`<m:r><m:rPr><m:nor/></m:rPr><m:t>if $5</m:t></m:r>`, `$\text{if \$5}$`},
		"tracked":     {`<w:del xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">` + r("a") + `</w:del>` + r("b"), `$b$`},
		"unbalanced":  {arg("f", "") + arg("sSup", "") + arg("m", ""), `$\frac{}{}\begin{matrix} \end{matrix}$`},
		"group brace": {arg("groupChr", arg("e", r("x+y"))), `$\underbrace{x+y}$`},
	} {
		if got, err := omml(t, c.xml); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, c.want)
		}
	}
	if _, err := omml(t, strings.Repeat(r(strings.Repeat("x", 1000)), 1100)); !fault.Is(err, fault.Invalid) {
		t.Errorf("a formula of a megabyte: %v", err)
	}
}

func TestMathML(t *testing.T) {
	for name, c := range map[string]struct{ xml, want string }{
		"row":      {`<mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow>`, "$a+1$"},
		"fraction": {`<mfrac><mi>a</mi><mrow><mi>b</mi><mi>c</mi></mrow></mfrac>`, `$\frac{a}{bc}$`},
		"scripts":  {`<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><msup><mrow><mi>a</mi><mi>b</mi></mrow><mn>3</mn></msup>`, `$x_{i}^{2}{ab}^{3}$`},
		"roots":    {`<msqrt><mi>x</mi><mi>y</mi></msqrt><mroot><mi>z</mi><mn>3</mn></mroot>`, `$\sqrt{xy}\sqrt[3]{z}$`},
		"sum":      {`<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover>`, `$\sum_{i}^{n}$`},
		"accents":  {`<mover><mi>v</mi><mo>→</mo></mover><mover><mi>x</mi><mo>¯</mo></mover>`, `$\vec{v}\overline{x}$`},
		"fenced":   {`<mfenced open="["><mi>a</mi><mi>b</mi></mfenced>`, `$\left[ a, b \right)$`},
		"matrix":   {`<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr></mtable>`, `$\begin{matrix} a & b \end{matrix}$`},
		"text":     {`<semantics><mtext>if_x</mtext><annotation>StarMath</annotation></semantics>`, `$\text{if\_x}$`},
		"too few":  {`<mfrac/><msup><mi>a</mi></msup>`, `$\frac{}{}a$`},
	} {
		got, err := read(t, `<math xmlns="http://www.w3.org/1998/Math/MathML">`+c.xml+`</math>`, formula.MathML)
		if err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, c.want)
		}
	}
}

func FuzzFormula(f *testing.F) {
	f.Add(arg("f", arg("num", r("a"))) + arg("d", arg("e", r("ä"))))
	f.Add(`<mfrac><mi>a</mi></mfrac><mover><mo/><mo>^</mo></mover>`)
	f.Add(arg("func", arg("fName", arg("limLow", arg("e", r("lim^_")))+r("\\{"))))
	f.Fuzz(func(t *testing.T, xml string) {
		if strings.ContainsAny(xml, "!?") { // declarations
			return
		}
		for _, parse := range []func(*zipxml.Part) (string, error){formula.OMML, formula.MathML} {
			got, err := read(t, `<x xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">`+xml+`</x>`, parse)
			if err != nil && !fault.Is(err, fault.Invalid) || err == nil && strings.Contains(got, "\n") {
				t.Errorf("%q: %q, %v", xml, got, err)
			}
		}
	})
}
