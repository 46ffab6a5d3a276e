package signin

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"annals/events/fault"
	"annals/http/signin/apitoken"
)

const (
	// maxTokens is how many tokens an account has that did not expire.
	maxTokens = 100
	// maxNoteBytes bounds what people note with a token.
	maxNoteBytes = 200
	// tokenMemory is how long a token is listed after it has expired.
	tokenMemory = 30 * 24 * time.Hour
	// usePause is the least time between two notes of when a token was used.
	usePause = time.Minute
)

// ProgramToken describes an API token, by which a program signs in as itself.
type ProgramToken struct {
	ID      string
	User    string // the account that it acts as
	Service bool   // whether that is a service
	Scope   apitoken.Scope
	Note    string
	Created time.Time
	Expires time.Time
	Used    time.Time // when it was last used, to a minute or so; the zero time if it never was
}

// NewToken is what CreateToken needs to know.
type NewToken struct {
	User  string
	Scope apitoken.Scope
	Note  string // for people: what it is for
	Lasts time.Duration
}

// Check reports what is wrong with a token that is to be made, apart from its account.
func (n NewToken) Check() error {
	if _, err := apitoken.ParseScope(string(n.Scope)); err != nil {
		return err
	}
	if len(n.Note) > maxNoteBytes || !utf8.ValidString(n.Note) || strings.ContainsFunc(n.Note, func(r rune) bool { return unicode.IsControl(r) || invisible(r) }) {
		return fault.Errorf(fault.Invalid, "a note is a line of text of up to %d bytes", maxNoteBytes)
	}
	if n.Lasts <= 0 || n.Lasts > apitoken.LongestLifetime {
		return fault.Errorf(fault.Invalid, "a token lasts up to %d days", apitoken.LongestLifetime/(24*time.Hour))
	}
	return nil
}

// CreateToken makes an API token that acts as an account, and returns it. Only its hash
// is stored, so it cannot be shown again. It ends when it expires or is revoked, and when
// the account is disabled, deleted, or gets another password.
func (a *Accounts) CreateToken(ctx context.Context, n NewToken, now time.Time) (token string, made ProgramToken, err error) {
	account, err := a.Get(ctx, n.User)
	if err != nil {
		return "", made, err
	}
	if account.Disabled {
		return "", made, fault.Errorf(fault.Forbidden, "user %q is disabled", account.Name)
	}
	if err := n.Check(); err != nil {
		return "", made, err
	}
	token, id := apitoken.New()
	hash, _ := apitoken.Digest(token)
	now = now.UTC().Truncate(time.Microsecond)
	made = ProgramToken{ID: id, User: account.Name, Service: account.Service, Scope: n.Scope, Note: n.Note, Created: now, Expires: now.Add(n.Lasts)}
	added, err := a.db.exec(ctx, `
		INSERT INTO tokens (hash, id, "user", scope, note, created, expires)
		SELECT $1, $2, name, $4, $5, $6, $7 FROM users WHERE name = $3 AND NOT disabled AND NOT deleted
			AND (SELECT count(*) FROM tokens WHERE "user" = $3 AND expires > $6) < $8`+a.db.hold,
		hash, id, account.Name, string(n.Scope), n.Note, now.UnixMicro(), made.Expires.UnixMicro(), maxTokens)
	switch {
	case err != nil:
		return "", made, fmt.Errorf("store a token of %q: %w", account.Name, err)
	case added == 0:
		return "", made, fault.Errorf(fault.Conflict, "%q has %d tokens already, or was disabled just now: revoke some by annals token revoke", account.Name, maxTokens)
	}
	a.observe(ctx, Event{Kind: TokenCreated, User: account.Name, Client: id, Detail: fmt.Sprintf("scope %s, until %s", n.Scope, made.Expires.Format(time.DateOnly))})
	return token, made, nil
}

const selectToken = `
	SELECT t.id, t."user", u.service, t.scope, t.note, t.created, t.expires, t.used, u.admin, u.groups
	FROM tokens t JOIN users u ON u.name = t."user" WHERE NOT u.disabled AND NOT u.deleted`

// heldToken is an API token with the rights of its account at this moment.
type heldToken struct {
	ProgramToken
	admin  bool
	groups []string
}

func scanToken(row scanner) (t heldToken, err error) {
	var created, expires, used int64
	var groups []byte
	if err := row.Scan(&t.ID, &t.User, &t.Service, &t.Scope, &t.Note, &created, &expires, &used, &t.admin, &groups); err != nil {
		return t, err
	}
	t.Created, t.Expires = time.UnixMicro(created).UTC(), time.UnixMicro(expires).UTC()
	if used > 0 {
		t.Used = time.UnixMicro(used).UTC()
	}
	return t, json.Unmarshal(groups, &t.groups)
}

// Tokens returns the tokens of an account, or of all for "", those that expired
// lately among them.
func (a *Accounts) Tokens(ctx context.Context, name string) ([]ProgramToken, error) {
	if name != "" {
		account, err := a.Get(ctx, name)
		if err != nil {
			return nil, err
		}
		name = account.Name
	}
	all, err := collect(ctx, a.db, func(r scanner) (ProgramToken, error) { t, err := scanToken(r); return t.ProgramToken, err },
		selectToken+` AND ($1 = '' OR t."user" = $1) ORDER BY t."user", t.created, t.id`, name)
	if err != nil {
		return nil, fmt.Errorf("list API tokens: %w", err)
	}
	return all, nil
}

// RevokeToken ends a token, and what was given for it, at once at every node.
func (a *Accounts) RevokeToken(ctx context.Context, id string) (user string, err error) {
	err = a.db.row(ctx, `DELETE FROM tokens WHERE id = $1 RETURNING "user"`, id).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fault.Errorf(fault.NotFound, "there is no token %q; \"annals token list\" shows those there are", id)
	}
	if err != nil {
		return "", fmt.Errorf("revoke a token: %w", err)
	}
	a.observe(ctx, Event{Kind: TokenRevoked, User: user, Client: id})
	return user, nil
}

// revokeOwn ends a token if it acts as the user; it reports false if not.
func (a *Accounts) revokeOwn(ctx context.Context, user, id string) (bool, error) {
	n, err := a.db.exec(ctx, `DELETE FROM tokens WHERE id = $1 AND "user" = $2`, id, user)
	if err != nil {
		return false, fmt.Errorf("revoke a token: %w", err)
	}
	return n > 0, nil
}

// heldToken returns an API token, if it is valid at this moment, and notes that it was
// used.
func (a *Accounts) heldToken(ctx context.Context, token string, now time.Time) (t heldToken, found bool, err error) {
	hash, ok := apitoken.Digest(token)
	if !ok {
		return t, false, nil
	}
	t, err = scanToken(a.db.row(ctx, selectToken+` AND t.hash = $1 AND t.expires > $2`, hash, now.UnixMicro()))
	if errors.Is(err, sql.ErrNoRows) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("look up a token: %w", err)
	}
	if now.Sub(t.Used) >= usePause {
		a.uses.note(t.ID, now, a.writeUse)
	}
	return t, true, nil
}

// writeUse notes when a token was used. A failure costs no more than that.
func (a *Accounts) writeUse(id string, at time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _ = a.db.exec(ctx, `UPDATE tokens SET used = $2 WHERE id = $1 AND used < $2`, id, at.UnixMicro())
}

// tokenUses writes when tokens were used, beside the requests that they came with,
// which do not wait for it: one write at a time, and each token at most once in
// usePause. Its zero value is ready.
type tokenUses struct {
	mu      sync.Mutex
	noted   map[string]time.Time // lately, by id
	waiting map[string]time.Time
	writing bool
	closed  bool
	writer  sync.WaitGroup
}

func (u *tokenUses) note(id string, now time.Time, write func(id string, at time.Time)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, ok := u.noted[id]; u.closed || ok && now.Sub(last) < usePause && !now.Before(last) {
		return
	}
	const most = 10_000 // old ones are useless
	if u.noted == nil || len(u.noted) >= most {
		u.noted = map[string]time.Time{}
	}
	if u.waiting == nil {
		u.waiting = map[string]time.Time{}
	}
	u.noted[id], u.waiting[id] = now, now
	if !u.writing {
		u.writing = true
		u.writer.Go(func() { u.write(write) })
	}
}

// write writes until nothing waits.
func (u *tokenUses) write(write func(id string, at time.Time)) {
	for {
		u.mu.Lock()
		waiting := u.waiting
		u.waiting = nil
		u.writing = len(waiting) > 0
		u.mu.Unlock()
		if len(waiting) == 0 {
			return
		}
		for id, at := range waiting {
			write(id, at)
		}
	}
}

// close waits for what is being written, and takes no more.
func (u *tokenUses) close() {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	u.writer.Wait()
}
