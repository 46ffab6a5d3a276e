package signin

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"annals/events/fault"
)

const (
	maxNameBytes = 128
	maxGroups    = 256
)

// normal is the form in which names are stored and compared.
func normal(name string) string { return strings.TrimSpace(norm.NFC.String(name)) }

// cleanName returns name in its normal form, or says which rule it breaks.
// "/" and ":" are part of how principals are written, "." and ".." cannot name
// a folder, and invisible characters would make two names look like one.
func cleanName(what, name string) (string, error) {
	if len(name) > 4*maxNameBytes || !utf8.ValidString(name) {
		return "", fault.Errorf(fault.Invalid, "a %s is UTF-8 text of up to %d bytes", what, maxNameBytes)
	}
	clean := normal(name)
	switch {
	case clean == "" || clean == "." || clean == "..":
		return "", fault.Errorf(fault.Invalid, "%q cannot be a %s", clean, what)
	case len(clean) > maxNameBytes:
		return "", fault.Errorf(fault.Invalid, "a %s has up to %d bytes, %q has %d", what, maxNameBytes, clean, len(clean))
	case strings.ContainsAny(clean, "/:"):
		return "", fault.Errorf(fault.Invalid, `a %s cannot hold "/" or ":", as %q does`, what, clean)
	case strings.ContainsFunc(clean, invisible):
		return "", fault.Errorf(fault.Invalid, "a %s cannot hold control characters, as %q does", what, clean)
	}
	return clean, nil
}

func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r == '\u200b' || r == '\ufeff'
}

// cleanGroups returns the groups in normal form, sorted, each once; never nil.
func cleanGroups(groups []string) ([]string, error) {
	if len(groups) > maxGroups {
		return nil, fault.Errorf(fault.Invalid, "a user is in up to %d groups, not %d", maxGroups, len(groups))
	}
	clean := make([]string, 0, len(groups))
	for _, g := range groups {
		name, err := cleanName("group name", g)
		if err != nil {
			return nil, err
		}
		clean = append(clean, name)
	}
	slices.Sort(clean)
	return slices.Compact(clean), nil
}
