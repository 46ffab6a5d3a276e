package accounts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"annals/events/fault"
	"annals/events/lookalike"
	"annals/events/sqldb"

	"golang.org/x/text/unicode/norm"
)

// Maximum length of a name in bytes, and maximum number of groups of a user.
const (
	MaxNameBytes = 128
	MaxGroups    = 256
)

// NormalName returns a name in the form in which names are stored and compared.
func NormalName(name string) string { return strings.TrimSpace(norm.NFC.String(name)) }

// CleanName returns name in its normal form. The error says which rule the name breaks; in it,
// what is the kind of name, such as "user name". Slashes and colons are not allowed because
// they separate the parts of principals, "." and ".." because they cannot name a folder, and
// hidden characters because two names would look alike.
func CleanName(what, name string) (string, error) {
	if len(name) > 4*MaxNameBytes || !utf8.ValidString(name) {
		return "", fault.Errorf(fault.Invalid, "a %s must be UTF-8 text of up to %d bytes", what, MaxNameBytes)
	}
	clean := NormalName(name)
	switch {
	case clean == "" || clean == "." || clean == "..":
		return "", fault.Errorf(fault.Invalid, "%q cannot be a %s", clean, what)
	case len(clean) > MaxNameBytes:
		return "", fault.Errorf(fault.Invalid, "a %s can have up to %d bytes, but %q has %d", what, MaxNameBytes, clean, len(clean))
	case strings.ContainsAny(clean, "/:"):
		return "", fault.Errorf(fault.Invalid, `the %s %q cannot contain "/" or ":"`, what, clean)
	case strings.ContainsFunc(clean, unicode.IsControl):
		return "", fault.Errorf(fault.Invalid, "the %s %q cannot contain control characters", what, clean)
	}
	if c, found := lookalike.Hidden(clean); found {
		return "", fault.Errorf(fault.Invalid, "a %s cannot contain the invisible character %s: remove it", what, c)
	}
	return clean, nil
}

// Invisible reports whether a character is a control character or an invisible character that
// could make a name look like another one.
func Invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r == '\u200b' || r == '\ufeff'
}

// checkSimilar returns an error if the name of a new user looks like the name of an existing
// or deleted user.
func (a *Store) checkSimilar(ctx context.Context, name string) error {
	names, err := sqldb.Collect(ctx, a.db, func(r sqldb.Row) (name string, err error) { return name, r.Scan(&name) }, `SELECT name FROM users`)
	if err != nil {
		return fmt.Errorf("compare the name %q with the names of other users: %w", name, err)
	}
	for _, other := range names {
		if lookalike.Alike(name, other) {
			return fault.Errorf(fault.Conflict, "the name %q looks like the name of another user, %q: choose a name that differs more", name, other)
		}
	}
	return nil
}

// cleanGroups returns group names in normal form, sorted and without duplicates. The result is
// never nil.
func cleanGroups(groups []string) ([]string, error) {
	if len(groups) > MaxGroups {
		return nil, fault.Errorf(fault.Invalid, "a user can be in up to %d groups, not %d", MaxGroups, len(groups))
	}
	clean := make([]string, 0, len(groups))
	for _, g := range groups {
		name, err := CleanName("group name", g)
		if err != nil {
			return nil, err
		}
		clean = append(clean, name)
	}
	slices.Sort(clean)
	return slices.Compact(clean), nil
}
