package signin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"annals/events/fault"
	"annals/events/lookalike"
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
	case strings.ContainsFunc(clean, unicode.IsControl):
		return "", fault.Errorf(fault.Invalid, "a %s cannot hold control characters, as %q does", what, clean)
	}
	if c, found := lookalike.Hidden(clean); found {
		return "", fault.Errorf(fault.Invalid, "a %s cannot hold %s, which nobody sees: leave it out", what, c)
	}
	return clean, nil
}

// invisible reports whether a character cannot be part of a foreign name.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r == '\u200b' || r == '\ufeff'
}

// unlike returns an error where a new user's name would be taken for that of
// another one, who may be gone.
func (a *Accounts) unlike(ctx context.Context, name string) error {
	names, err := collect(ctx, a.db, func(r scanner) (name string, err error) { return name, r.Scan(&name) }, `SELECT name FROM users`)
	if err != nil {
		return fmt.Errorf("compare user %q with others: %w", name, err)
	}
	for _, other := range names {
		if lookalike.Alike(name, other) {
			return fault.Errorf(fault.Conflict, "the name %q looks like that of another user, %q: choose a name that differs more", name, other)
		}
	}
	return nil
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
