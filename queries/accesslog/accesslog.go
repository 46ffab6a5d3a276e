// Package accesslog keeps who signed in, who was refused, and who read what:
// what is no change, and therefore no event of the log. It is kept for a while
// and forgotten then.
//
// Recording costs its caller a map's lookup. What is alike within a minute is
// one record with a count, so that a flood takes little room, and records are
// written in batches, twice a second.
//
// It imports events, events/fault and events/postgres.
package accesslog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"annals/events"

	"github.com/google/uuid"
)

// Kind names what happened, as the audit trail's types do.
type Kind string

// The kinds that this package knows of. Those of the sign-in come beside them, by
// names that the sign-in gives.
const (
	Read         Kind = "DocumentRead"        // its text, or a part of it
	ReadByAdmin  Kind = "DocumentReadByAdmin" // by one who may as an administrator alone
	Exported     Kind = "DocumentExported"    // the original, or all of the text, as a file
	Denied       Kind = "AccessDenied"        // 403; or 404, of a thing that there is
	TokenRefused Kind = "TokenRefused"        // no token, or one that is not valid
	BackedUp     Kind = "BackupMade"
	Lost         Kind = "RecordsLost" // too many at once, or the store did not answer
)

// Access is something that happened.
type Access struct {
	Kind Kind
	// User is who did it; the zero value where that is not known. Of a Read his
	// grants decide whether it is an administrator's.
	User        events.User
	Via         string // the part of the program that was called
	Correlation string // the request
	Address     string // the client's
	// Thing is what it is about: document-ID, folder-ID or job-ID, or nothing.
	// Where it lies and what it is called is looked up when the record is written.
	Thing string
	// Place is whose matter it is, where it is about no thing: a principal.
	Place events.Principal
	Name  string // of what it is about, where it is about no thing
	// Detail is a part of a sentence. It holds no secret and nothing of what was
	// asked for.
	Detail string
}

// Found is where a thing is.
type Found struct {
	Place     string // id of the folder that it lies in, or that it is; the principal whose job it is
	PlaceName string
	Name      string
}

// Record is what was kept of accesses that are alike.
type Record struct {
	Mark
	ID          uuid.UUID
	Last        time.Time // of the latest of them; Mark has the first
	Count       int
	Kind        Kind
	Actor       events.Principal
	Via         string
	Correlation string // of the first
	Address     string
	Thing       string
	Name        string
	Place       string
	PlaceName   string
	Detail      string
}

// Mark is the place of a record: by time, then by number.
type Mark struct {
	Time int64 // Unix microseconds
	Seq  int64
}

// Words says what was done, in a sentence that the actor's name is to begin.
func (r Record) Words() string {
	what := "the thing"
	if kind, _, ok := strings.Cut(r.Thing, "-"); ok {
		what = map[string]string{"document": "document", "folder": "folder", "job": "import job"}[kind]
		if r.Name != "" {
			what += " " + strconv.Quote(r.Name)
		}
	}
	said := ""
	switch r.Kind {
	case Read:
		said = "read " + what
	case ReadByAdmin:
		said = "read " + what + " as an administrator"
	case Exported:
		said = "downloaded " + what
	case Denied:
		if r.Thing == "" {
			said = "was denied access"
		} else {
			said = "was denied access to " + what
		}
	case TokenRefused:
		said = "called without a valid token"
	case BackedUp:
		said = "made a backup"
	case Lost:
		return fmt.Sprintf("%d records of access were lost, since more came than could be written", r.Count)
	default:
		said = r.signInWords()
	}
	if r.Detail != "" {
		said += " (" + r.Detail + ")"
	}
	if r.Count > 1 {
		said += fmt.Sprintf(", %d times within a minute", r.Count)
	}
	return said
}

// sentences are those of the sign-in, with the account's name in place of %s.
var sentences = map[Kind]string{
	"SignedIn":          "signed in",
	"SignInFailed":      "failed to sign in as %s",
	"SignInRefused":     "was kept from trying to sign in as %s",
	"SignedOut":         "signed out",
	"ProgramAllowed":    "allowed a program to act for them",
	"ProgramDenied":     "refused a program",
	"ProgramEnded":      "ended a program's sign-in",
	"ProgramMisused":    "came with a program's code or token that was used before",
	"TokenIssued":       "issued a token of %s",
	"TokenCreated":      "created an API token of %s",
	"TokenRevoked":      "revoked an API token of %s",
	"UserCreated":       "created user %s",
	"UserChanged":       "changed user %s",
	"PasswordChanged":   "changed the password of %s",
	"LinkCreated":       "made a link for a new password of %s",
	"FactorAdded":       "added a second factor of %s",
	"FactorRemoved":     "removed a second factor of %s",
	"FactorsReset":      "reset the second factors of %s",
	"FactorsRequired":   "changed whether second factors are required",
	"RecoveryCodeUsed":  "used a recovery code of %s",
	"SigningKeyAdded":   "added a signing key",
	"SigningKeyDeleted": "deleted a signing key",
}

func (r Record) signInWords() string {
	name := "an account that there is not"
	if r.Name != "" {
		name = strconv.Quote(r.Name)
	}
	if said, ok := sentences[r.Kind]; ok {
		return strings.ReplaceAll(said, "%s", name)
	}
	said := words(r.Kind) // of a later version
	if r.Name != "" {
		said += ": " + name
	}
	return said
}

// KindOf makes a kind of words: "signed in" is SignedIn.
func KindOf(said string) Kind {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(said, func(r rune) bool { return r == ' ' || r == '-' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return Kind(b.String())
}

// words is the inverse of KindOf, as far as it can be.
func words(k Kind) string {
	var b strings.Builder
	for i, r := range string(k) {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// Reads is which reads are kept. Exports are, and what administrators read of
// what is others', unless None.
type Reads struct {
	None bool
	// Every keeps one of so many other reads: 1 keeps all, 0 none.
	Every int
}

// ParseReads reads none, admins, sample:N or all.
func ParseReads(text string) (Reads, error) {
	switch text {
	case "none":
		return Reads{None: true}, nil
	case "admins":
		return Reads{}, nil
	case "all":
		return Reads{Every: 1}, nil
	}
	if n, ok := strings.CutPrefix(text, "sample:"); ok {
		if every, err := strconv.Atoi(n); err == nil && every >= 1 {
			return Reads{Every: every}, nil
		}
	}
	return Reads{}, fmt.Errorf("%q is none of none, admins, sample:N (one of N reads) and all", text)
}
