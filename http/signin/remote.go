package signin

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"annals/events"
	"annals/events/fault"
	"annals/http/signin/accounts"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	maxSubjectBytes = 255
	maxTokenGroups  = 1000
)

// remote verifies tokens of an external issuer with the public keys of that issuer.
type remote struct {
	config IssuerConfig
	keys   *keyring
}

func newRemote(config IssuerConfig, client *http.Client, now func() time.Time) (*remote, error) {
	if err := checkIssuerURL(config.URL); err != nil {
		return nil, err
	}
	alias, err := accounts.CleanName("issuer alias", config.Alias)
	if err != nil {
		return nil, err
	}
	config.Alias = alias
	if len(config.Audiences) == 0 {
		return nil, fault.Errorf(fault.Invalid, "issuer %s needs an audience: the client id that its tokens are for", config.URL)
	}
	if slices.Contains(config.Audiences, "") {
		return nil, fault.Errorf(fault.Invalid, "issuer %s has an empty audience", config.URL)
	}
	config.UserClaim = cmp.Or(config.UserClaim, "sub")
	if config.GroupsClaim == "" {
		config.GroupsClaim = "groups"
	}
	config.AdminValue = cmp.Or(config.AdminValue, "true")
	return &remote{config: config, keys: newKeyring(config.URL, client, now)}, nil
}

func (r *remote) intendedFor(audiences jwt.Audience, _ string) bool {
	return slices.ContainsFunc(r.config.Audiences, audiences.Contains)
}

// verify verifies the signature with the cached keys. If no cached key has the token's key id,
// it fetches the keys again. It does not do so if the key is known and the signature is wrong.
func (r *remote) verify(ctx context.Context, token *jwt.JSONWebToken, c *claims) error {
	header := token.Headers[0]
	set, err := r.keys.current(ctx)
	if err != nil {
		return err
	}
	candidates := set.candidates(header)
	if header.KeyID == "" && !decodeAny(token, candidates, c) || len(candidates) == 0 {
		if set, err = r.keys.refetch(ctx, set); err != nil {
			return err
		}
		candidates = set.candidates(header)
	}
	switch {
	case len(candidates) == 0:
		return unauthenticated("the token's key is unknown")
	case !decodeAny(token, candidates, c):
		return unauthenticated("the token's signature is wrong")
	}
	return nil
}

func decodeAny(token *jwt.JSONWebToken, keys []jose.JSONWebKey, c *claims) bool {
	for _, key := range keys {
		if verifySignature(token, key, c) == nil {
			return true
		}
		*c = claims{}
	}
	return false
}

func (r *remote) identify(c *claims) (events.User, error) {
	all := c.all
	subject, _ := all[r.config.UserClaim].(string)
	if !validName(subject) {
		return events.User{}, fault.Errorf(fault.Unauthenticated, "the token's claim %q names no user", r.config.UserClaim)
	}
	user := events.User{Principal: events.Principal("user:" + r.config.Alias + "/" + subject)}
	for _, g := range stringValues(all[r.config.GroupsClaim]) {
		if validName(g) && len(user.Groups) < maxTokenGroups {
			user.Groups = append(user.Groups, events.Principal("group:"+r.config.Alias+"/"+g))
		}
	}
	if r.config.AdminClaim != "" {
		value := all[r.config.AdminClaim]
		if b, ok := value.(bool); ok {
			user.Admin = b && r.config.AdminValue == "true"
		}
		for _, s := range stringValues(value) {
			user.Admin = user.Admin || s == r.config.AdminValue
		}
	}
	return user, nil
}

// current returns the user as the token describes it. The service cannot look up users of an
// external issuer, so the claims count until the token expires.
func (r *remote) current(_ context.Context, t verified) (events.User, error) {
	user := t.user
	user.Groups = slices.Clone(user.Groups) // callers may change the slice, but not the cached one
	return user, nil
}

// validName reports whether a user or group name from an external issuer can be part of a
// principal.
func validName(name string) bool {
	return strings.TrimSpace(name) != "" && len(name) <= maxSubjectBytes && utf8.ValidString(name) && !strings.ContainsFunc(name, accounts.Invisible)
}

// stringValues returns the strings in a claim that is a string or an array of strings.
func stringValues(claim any) []string {
	switch c := claim.(type) {
	case string:
		return []string{c}
	case []any:
		var all []string
		for _, v := range c {
			if s, ok := v.(string); ok {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}
