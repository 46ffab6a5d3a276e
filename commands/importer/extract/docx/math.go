package docx

import "strings"

// math returns the open formula as a single line: fractions as (a)/(b), indices with "_" and "^",
// roots with "√".
func (d *document) math(x *xmlPart) (string, error) {
	var out strings.Builder
	err := x.children(func(e *element) error {
		text, err := d.mathElement(x, e)
		out.WriteString(text)
		if err == nil {
			err = tooLong(out.Len())
		}
		return err
	})
	return out.String(), err
}

func (d *document) mathElement(x *xmlPart, e *element) (string, error) {
	switch e.name {
	case "m:t", "w:t":
		return x.text()
	case "w:del", "w:moveFrom", "m:rPr", "w:rPr", "m:ctrlPr":
		return "", x.skip()
	case "m:f", "m:sSup", "m:sSub", "m:sSubSup", "m:rad", "m:d", "m:nary", "m:limLow", "m:limUpp", "m:func":
		return d.mathObject(x, e.local)
	case "m:oMath":
		text, err := d.math(x)
		return text + " ", err
	}
	return d.math(x)
}

// mathObject returns an object of a formula, such as a fraction, with its arguments.
func (d *document) mathObject(x *xmlPart, object string) (string, error) {
	args := map[string][]string{}
	chars := map[string]string{"begChr": "(", "endChr": ")", "chr": "∫"}
	err := x.children(func(e *element) error {
		if strings.HasSuffix(e.local, "Pr") {
			return x.children(func(c *element) error {
				if _, ok := chars[c.local]; ok {
					chars[c.local] = c.attr("val")
				}
				return x.skip()
			})
		}
		text, err := d.math(x)
		args[e.local] = append(args[e.local], strings.TrimSpace(text))
		return err
	})
	arg := func(name string) string { return strings.Join(args[name], ", ") }
	index := func(mark, name string) string {
		if text := arg(name); text != "" {
			return mark + grouped(text)
		}
		return ""
	}
	switch object {
	case "f":
		return grouped(arg("num")) + "/" + grouped(arg("den")), err
	case "rad":
		return arg("deg") + "√" + grouped(arg("e")), err
	case "d":
		return chars["begChr"] + arg("e") + chars["endChr"], err
	case "nary":
		return chars["chr"] + index("_", "sub") + index("^", "sup") + " " + arg("e"), err
	case "limLow":
		return arg("e") + index("_", "lim") + " ", err
	case "limUpp":
		return arg("e") + index("^", "lim") + " ", err
	case "func":
		return arg("fName") + " " + arg("e"), err
	}
	return arg("e") + index("_", "sub") + index("^", "sup"), err
}

func grouped(text string) string {
	if len([]rune(text)) <= 1 {
		return text
	}
	return "(" + text + ")"
}
