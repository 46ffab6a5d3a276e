package events

import "strings"

// Principal names a user or a group: "user:<name>" or "group:<name>". Names from an
// issuer other than the built-in issuer begin with the issuer's alias:
// "user:<alias>/<subject>".
type Principal string

// IsUser reports whether p names a user.
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

// User is the caller of a request, according to a verified token.
type User struct {
	Principal Principal   // user:…
	Groups    []Principal // group:…
	Admin     bool        // the user may do everything
	// Token is the id of the request's API token, or "" if the request has none. ReadOnly
	// means that the token allows no changes, even if the user may make them.
	Token    string
	ReadOnly bool
}

// Via returns the value of Metadata.Via for a request of the user: part, the interface
// that received the request, followed by the id of the user's API token if there is one.
func (u User) Via(part string) string {
	if u.Token == "" {
		return part
	}
	return part + byToken + u.Token
}

const byToken = " by token "

// PartIn returns the part of the program in a result of Via.
func PartIn(via string) string {
	part, _, _ := strings.Cut(via, byToken)
	return part
}

// TokenIn returns the token id in a result of Via, or "" if there is none.
func TokenIn(via string) string {
	_, token, _ := strings.Cut(via, byToken)
	return token
}

// Principals returns the principals whose permissions the user has.
func (u User) Principals() []Principal {
	return append([]Principal{u.Principal}, u.Groups...)
}

// Access is what a principal may do with a folder and everything below it. Each
// level includes the lower ones.
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

// ParseAccess is the inverse of Access.String; ok is false for other strings.
func ParseAccess(s string) (a Access, ok bool) {
	for i, name := range accessNames {
		if s == name && i > 0 {
			return Access(i), true
		}
	}
	return NoAccess, false
}
