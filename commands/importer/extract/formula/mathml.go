package formula

import (
	"strings"

	"annals/commands/importer/extract/zipxml"
	"annals/events/fault"
)

// MathML returns the open math element, between dollar signs. It returns "" for an empty formula.
func MathML(x *zipxml.Part) (string, error) {
	parts, err := mathChildren(x)
	return delimited(strings.Join(parts, "")), err
}

// mathChildren returns each child of the open element.
func mathChildren(x *zipxml.Part) (parts []string, err error) {
	size := 0
	err = x.Children(func(e *zipxml.Element) error {
		text, err := mathElement(x, e)
		parts = append(parts, text)
		if size += len(text) + 1; size > maxFormula && err == nil {
			err = fault.Errorf(fault.Invalid, "a formula in the file has more than %d bytes: divide it, and upload the new file", maxFormula)
		}
		return err
	})
	return parts, err
}

func mathElement(x *zipxml.Part, e *zipxml.Element) (string, error) {
	switch e.Local {
	case "annotation", "annotation-xml", "mspace", "mphantom":
		return "", x.Skip()
	case "mi", "mn", "mo":
		text, err := x.Text()
		text = strings.TrimSpace(text)
		if functions[text] {
			return `\` + text + " ", err
		}
		switch text { // of StarMath, and what has no width
		case "\u2061", "\u2062", "\u2063":
			return "", err
		}
		return symbols(text), err
	case "mtext", "ms":
		text, err := x.Text()
		if text = strings.TrimSpace(text); text == "" {
			return " ", err
		}
		return `\text{` + escapeTeX.Replace(text) + "}", err
	}
	open, end := e.Attr("open"), e.Attr("close")
	parts, err := mathChildren(x)
	part := func(i int) string {
		if i < len(parts) {
			return strings.TrimSpace(parts[i])
		}
		return ""
	}
	switch e.Local {
	case "mfrac":
		return `\frac{` + part(0) + "}{" + part(1) + "}", err
	case "msqrt":
		return `\sqrt{` + strings.Join(parts, "") + "}", err
	case "mroot":
		return `\sqrt[` + part(1) + "]{" + part(0) + "}", err
	case "msup":
		return grouped(part(0)) + index("^", part(1)), err
	case "msub":
		return grouped(part(0)) + index("_", part(1)), err
	case "msubsup", "munderover":
		return grouped(part(0)) + index("_", part(1)) + index("^", part(2)), err
	case "munder":
		if strings.HasPrefix(part(0), `\`) {
			return part(0) + index("_", part(1)), err
		}
		return `\underset{` + part(1) + "}{" + part(0) + "}", err
	case "mover":
		switch part(1) {
		case "^", "ˆ":
			return `\hat{` + part(0) + "}", err
		case "¯", "‾":
			return `\overline{` + part(0) + "}", err
		case `\rightarrow`:
			return `\vec{` + part(0) + "}", err
		case "~", `\sim`:
			return `\widetilde{` + part(0) + "}", err
		case "˙":
			return `\dot{` + part(0) + "}", err
		}
		return `\overset{` + part(1) + "}{" + part(0) + "}", err
	case "mfenced":
		if open == "" {
			open = "("
		}
		if end == "" {
			end = ")"
		}
		return `\left` + delimiter(open) + " " + strings.Join(parts, ", ") + ` \right` + delimiter(end), err
	case "mtable":
		return `\begin{matrix} ` + strings.Join(parts, ` \\ `) + ` \end{matrix}`, err
	case "mtr":
		return strings.Join(parts, " & "), err
	}
	return strings.Join(parts, ""), err
}
