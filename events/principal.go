package events

import "strings"

// Principal names who acts or who is granted something: "user:<name>" for a
// person, "group:<name>" for a group. Names from another issuer than the
// built-in one carry its alias: "user:<alias>/<subject>".
type Principal string

// IsUser reports whether p names a person.
func (p Principal) IsUser() bool {
	return strings.HasPrefix(string(p), "user:") && len(p) > len("user:")
}

// IsGroup reports whether p names a group.
func (p Principal) IsGroup() bool {
	return strings.HasPrefix(string(p), "group:") && len(p) > len("group:")
}

// Name returns p without its kind: "alice" for "user:alice".
func (p Principal) Name() string {
	_, name, _ := strings.Cut(string(p), ":")
	return name
}

// User is whoever makes a request, as a verified token tells it.
type User struct {
	Principal Principal   // user:…
	Groups    []Principal // group:…
	Admin     bool        // may do everything
	// Token is the id of the API token that the request came with, "" for other
	// requests. ReadOnly says that it changes nothing, whatever its user may do.
	Token    string
	ReadOnly bool
}

// Via names the part of the program that a user came through, with the id of
// their token if they have one, as the audit trail shows it.
func (u User) Via(part string) string {
	if u.Token == "" {
		return part
	}
	return part + byToken + u.Token
}

const byToken = " by token "

// TokenIn returns the id of the token in what Via returned, "" if there is none.
func TokenIn(via string) string {
	_, token, _ := strings.Cut(via, byToken)
	return token
}

// Principals returns everyone as whom the user may be granted something.
func (u User) Principals() []Principal {
	return append([]Principal{u.Principal}, u.Groups...)
}

// Access is what a principal may do with a folder and all below it. Each
// level includes the ones before it.
type Access uint8

// The levels of access.
const (
	NoAccess Access = iota
	Read            // see, search, download
	Write           // import, change
	Own             // share, delete
)

var accessNames = [...]string{"none", "read", "write", "own"}

// String returns the level's name in permissions: none, read, write, own.
func (a Access) String() string { return accessNames[min(int(a), len(accessNames)-1)] }

// ParseAccess is the inverse of Access.String; ok is false for other texts.
func ParseAccess(s string) (a Access, ok bool) {
	for i, name := range accessNames {
		if s == name && i > 0 {
			return Access(i), true
		}
	}
	return NoAccess, false
}
