package accounts

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
	"annals/events/sqldb"
	"annals/http/signin/apitoken"
)

const (
	// MaxTokens is the maximum number of API tokens of an account that have not expired.
	MaxTokens = 100
	// maxNoteBytes is the maximum length of the note of a token.
	maxNoteBytes = 200
	// tokenRetention is how long a token is still listed after it has expired.
	tokenRetention = 30 * 24 * time.Hour
	// usePause is the minimum time after which the last use of a token is stored again.
	usePause = time.Minute
)

// APIToken describes an API token, with which a program signs in as an account.
type APIToken struct {
	ID      string
	User    string // name of the account
	Service bool   // whether the account is that of a program
	Scope   apitoken.Scope
	Note    string
	Created time.Time
	Expires time.Time
	Used    time.Time // time of the last use, accurate to about a minute; zero if the token was never used
}

// NewAPIToken describes an API token to be created.
type NewAPIToken struct {
	User  string
	Scope apitoken.Scope
	Note  string // what the token is for, as users see it in lists
	Lasts time.Duration
}

// Check checks the scope, the note and the lifetime, but not whether the account exists. The
// error is Invalid.
func (n NewAPIToken) Check() error {
	if _, err := apitoken.ParseScope(string(n.Scope)); err != nil {
		return err
	}
	if len(n.Note) > maxNoteBytes || !utf8.ValidString(n.Note) || strings.ContainsFunc(n.Note, func(r rune) bool { return unicode.IsControl(r) || Invisible(r) }) {
		return fault.Errorf(fault.Invalid, "the note of a token must be a line of text of up to %d bytes", maxNoteBytes)
	}
	if n.Lasts <= 0 || n.Lasts > apitoken.MaxLifetime {
		return fault.Errorf(fault.Invalid, "the lifetime of a token must be positive and at most %d days", apitoken.MaxLifetime/(24*time.Hour))
	}
	return nil
}

// CreateToken creates an API token for an account. Only its hash is stored, so the token
// cannot be shown again. It stays valid until it expires or is revoked, or until the account
// is disabled, deleted, or gets a new password.
func (a *Store) CreateToken(ctx context.Context, n NewAPIToken, now time.Time) (token string, created APIToken, err error) {
	account, err := a.Get(ctx, n.User)
	if err != nil {
		return "", created, err
	}
	if account.Disabled {
		return "", created, fault.Errorf(fault.Forbidden, "user %q is disabled", account.Name)
	}
	if err := n.Check(); err != nil {
		return "", created, err
	}
	token, id := apitoken.New()
	hash, _ := apitoken.Digest(token)
	now = now.UTC().Truncate(time.Microsecond)
	created = APIToken{ID: id, User: account.Name, Service: account.Service, Scope: n.Scope, Note: n.Note, Created: now, Expires: now.Add(n.Lasts)}
	added, err := a.db.Exec(ctx, `
		INSERT INTO tokens (hash, id, "user", scope, note, created, expires)
		SELECT $1, $2, name, $4, $5, $6, $7 FROM users WHERE name = $3 AND NOT disabled AND NOT deleted
			AND (SELECT count(*) FROM tokens WHERE "user" = $3 AND expires > $6) < $8`+a.db.ForShare(),
		hash, id, account.Name, string(n.Scope), n.Note, now.UnixMicro(), created.Expires.UnixMicro(), MaxTokens)
	switch {
	case err != nil:
		return "", created, fmt.Errorf("store a token of %q: %w", account.Name, err)
	case added == 0:
		return "", created, fault.Errorf(fault.Conflict, "%q already has %d tokens, or was just disabled: revoke a token with annals token revoke", account.Name, MaxTokens)
	}
	a.Report(ctx, Event{Kind: TokenCreated, User: account.Name, Client: id, Detail: fmt.Sprintf("scope %s, until %s", n.Scope, created.Expires.Format(time.DateOnly))})
	return token, created, nil
}

const selectToken = `
	SELECT t.id, t."user", u.service, t.scope, t.note, t.created, t.expires, t.used, u.admin, u.groups
	FROM tokens t JOIN users u ON u.name = t."user" WHERE NOT u.disabled AND NOT u.deleted`

// scanToken scans an API token and its account.
func scanToken(row sqldb.Row) (t APIToken, account Account, err error) {
	var created, expires, used int64
	var groups []byte
	if err := row.Scan(&t.ID, &t.User, &t.Service, &t.Scope, &t.Note, &created, &expires, &used, &account.Admin, &groups); err != nil {
		return t, account, err
	}
	account.Name, account.Service = t.User, t.Service
	t.Created, t.Expires = time.UnixMicro(created).UTC(), time.UnixMicro(expires).UTC()
	if used > 0 {
		t.Used = time.UnixMicro(used).UTC()
	}
	return t, account, json.Unmarshal(groups, &account.Groups)
}

// Tokens returns the API tokens of an account, or of all accounts if name is "". The list
// includes tokens that expired less than 30 days ago.
func (a *Store) Tokens(ctx context.Context, name string) ([]APIToken, error) {
	if name != "" {
		account, err := a.Get(ctx, name)
		if err != nil {
			return nil, err
		}
		name = account.Name
	}
	all, err := sqldb.Collect(ctx, a.db, func(r sqldb.Row) (APIToken, error) { t, _, err := scanToken(r); return t, err },
		selectToken+` AND ($1 = '' OR t."user" = $1) ORDER BY t."user", t.created, t.id`, name)
	if err != nil {
		return nil, fmt.Errorf("list API tokens: %w", err)
	}
	return all, nil
}

// RevokeToken revokes an API token, and with it all access tokens that were issued in exchange
// for it. The change takes effect immediately on all nodes. It returns the name of the token's
// account.
func (a *Store) RevokeToken(ctx context.Context, id string) (user string, err error) {
	err = a.db.Row(ctx, `DELETE FROM tokens WHERE id = $1 RETURNING "user"`, id).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fault.Errorf(fault.NotFound, "there is no token %q: annals token list shows all tokens", id)
	}
	if err != nil {
		return "", fmt.Errorf("revoke a token: %w", err)
	}
	a.Report(ctx, Event{Kind: TokenRevoked, User: user, Client: id})
	return user, nil
}

// RevokeTokenOf revokes an API token if it belongs to user. It reports whether it revoked one.
func (a *Store) RevokeTokenOf(ctx context.Context, user, id string) (bool, error) {
	return a.changes(ctx, "revoke a token", `DELETE FROM tokens WHERE id = $1 AND "user" = $2`, id, user)
}

// FindToken returns an API token and its account, and records that the token was used. found
// is false if the token has expired or was revoked, or if the account is disabled.
func (a *Store) FindToken(ctx context.Context, token string, now time.Time) (t APIToken, account Account, found bool, err error) {
	hash, ok := apitoken.Digest(token)
	if !ok {
		return t, account, false, nil
	}
	t, account, err = scanToken(a.db.Row(ctx, selectToken+` AND t.hash = $1 AND t.expires > $2`, hash, now.UnixMicro()))
	if found, err = isFound(err, "look up an API token"); !found {
		return t, account, false, err
	}
	if now.Sub(t.Used) >= usePause {
		a.uses.add(t.ID, now, a.writeUse)
	}
	return t, account, true, nil
}

// writeUse stores the time at which a token was last used. Errors are ignored: at worst that
// time is outdated.
func (a *Store) writeUse(id string, at time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _ = a.db.Exec(ctx, `UPDATE tokens SET used = $2 WHERE id = $1 AND used < $2`, id, at.UnixMicro())
}

// tokenUses stores in the background when API tokens were last used, so that requests do not
// wait for the write. Only one write runs at a time, and the last use of a token is stored at
// most once per usePause. The zero value is ready to use.
type tokenUses struct {
	mu      sync.Mutex
	recent  map[string]time.Time // last use by token id
	pending map[string]time.Time // entries of recent that are not stored yet
	writing bool
	closed  bool
	writer  sync.WaitGroup
}

func (u *tokenUses) add(id string, now time.Time, write func(id string, at time.Time)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, ok := u.recent[id]; u.closed || ok && now.Sub(last) < usePause && !now.Before(last) {
		return
	}
	const maxRecent = 10_000 // when the map is full it is cleared; some last uses are then stored sooner than necessary
	if u.recent == nil || len(u.recent) >= maxRecent {
		u.recent = map[string]time.Time{}
	}
	if u.pending == nil {
		u.pending = map[string]time.Time{}
	}
	u.recent[id], u.pending[id] = now, now
	if !u.writing {
		u.writing = true
		u.writer.Go(func() { u.write(write) })
	}
}

// write stores the pending last uses, and those that are added meanwhile, until none are left.
func (u *tokenUses) write(write func(id string, at time.Time)) {
	for {
		u.mu.Lock()
		pending := u.pending
		u.pending = nil
		u.writing = len(pending) > 0
		u.mu.Unlock()
		if len(pending) == 0 {
			return
		}
		for id, at := range pending {
			write(id, at)
		}
	}
}

// close waits until all pending last uses are stored. Later uses are ignored.
func (u *tokenUses) close() {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	u.writer.Wait()
}
