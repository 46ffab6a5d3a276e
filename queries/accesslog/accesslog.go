// Package accesslog records sign-ins, refused requests and reads. They are not events
// of the log, because they change nothing. Records are deleted after a retention
// period.
//
// Recording costs the caller a map lookup; records are written in batches, twice a
// second. Equal accesses within a minute become one record with a count, so a flood of
// requests takes little space.
//
// It imports events, events/fault and events/sqldb.
package accesslog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"annals/events"

	"github.com/google/uuid"
)

// Kind is the kind of access, named like the types of events in the audit trail.
type Kind string

// Kinds of access. Package http/signin defines further kinds.
const (
	Read         Kind = "DocumentRead"        // of the text, or a part of it
	ReadByAdmin  Kind = "DocumentReadByAdmin" // a read that only the administrator role allowed
	Exported     Kind = "DocumentExported"    // a download of the original, or of all of the text
	Denied       Kind = "AccessDenied"        // 403, or 404 for a thing that exists
	TokenRefused Kind = "TokenRefused"        // a missing or invalid token
	BackedUp     Kind = "BackupMade"
	Lost         Kind = "RecordsLost" // some accesses were not recorded
)

// Access is one access to record.
type Access struct {
	Kind Kind
	// User is the acting user, the zero value if unknown. A Read by an administrator
	// becomes a ReadByAdmin if no permission grants it.
	User        events.User
	Via         string // the interface that was called, such as "tools"
	Correlation string // id of the request
	Address     string // the client's
	// Thing is what was accessed: document-ID, folder-ID, job-ID, or "". Its folder and
	// name are looked up when the record is written.
	Thing string
	// Place is the user or group that the access concerns. It is used only if Thing is
	// empty.
	Place events.Principal
	Name  string // the name to record, if Thing is empty
	// Detail is part of a sentence. It must not contain secrets or parts of a query.
	Detail string
}

// Found is the location and the name of a thing.
type Found struct {
	Place     string // id of its folder, or of the folder itself; for a job, its owner
	PlaceName string
	Name      string
}

// Record is the record of one or more equal accesses.
type Record struct {
	Mark
	ID          uuid.UUID
	Last        time.Time // time of the last access; Mark has the time of the first
	Count       int
	Kind        Kind
	Actor       events.Principal
	Via         string
	Correlation string // of the first access
	Address     string
	Thing       string
	Name        string
	Place       string
	PlaceName   string
	Detail      string
}

// Mark is the position of a record, ordered by time, then by number.
type Mark struct {
	Time int64 // Unix microseconds
	Seq  int64
}

// Words describes the access in a sentence whose subject is the actor.
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
		return fmt.Sprintf("%d access records were lost, because more came in than could be written", r.Count)
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

// sentences describe the kinds of access that package http/signin defines; %s is the
// account's name.
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
	name := "an account that does not exist"
	if r.Name != "" {
		name = strconv.Quote(r.Name)
	}
	if said, ok := sentences[r.Kind]; ok {
		return strings.ReplaceAll(said, "%s", name)
	}
	said := words(r.Kind) // written by a later version of the program
	if r.Name != "" {
		said += ": " + name
	}
	return said
}

// KindOf converts words to a kind: "signed in" becomes SignedIn.
func KindOf(said string) Kind {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(said, func(r rune) bool { return r == ' ' || r == '-' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return Kind(b.String())
}

// words converts a kind to words: SignedIn becomes "signed in".
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

// Reads selects the reads to record. Unless None is set, exports and reads by
// administrators without a grant are always recorded.
type Reads struct {
	None bool
	// Every is the sampling interval of other reads: 1 records all, n one of n, 0 none.
	Every int
}

// ParseReads parses none, admins, sample:N or all.
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
	return Reads{}, fmt.Errorf("%q: want none, admins, sample:N (one of N reads) or all", text)
}
