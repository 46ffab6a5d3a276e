package signin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"annals/events"
	"annals/events/fault"
)

const (
	maxSubjectBytes = 255
	maxTokenGroups  = 1000
)

// remote judges the tokens of an external issuer by the keys it publishes.
type remote struct {
	config IssuerConfig
	keys   *keyring
}

func newRemote(config IssuerConfig, client *http.Client, now func() time.Time) (*remote, error) {
	if _, err := checkIssuerURL(config.URL); err != nil {
		return nil, err
	}
	alias, err := cleanName("issuer alias", config.Alias)
	if err != nil {
		return nil, err
	}
	config.Alias = alias
	if len(config.Audiences) == 0 {
		return nil, fault.Errorf(fault.Invalid, "issuer %s needs an audience: the client id that its tokens are meant for", config.URL)
	}
	for _, a := range config.Audiences {
		if a == "" {
			return nil, fault.Errorf(fault.Invalid, "issuer %s has an empty audience", config.URL)
		}
	}
	if config.UserClaim == "" {
		config.UserClaim = "sub"
	}
	if config.GroupsClaim == "" {
		config.GroupsClaim = "groups"
	}
	if config.AdminValue == "" {
		config.AdminValue = "true"
	}
	return &remote{config: config, keys: newKeyring(config.URL, client, now)}, nil
}

func (r *remote) meant(audiences jwt.Audience, _ string) bool {
	return slices.ContainsFunc(r.config.Audiences, audiences.Contains)
}

// open tries the keys at hand. A key id that is not among them asks for newer
// keys; a wrong signature by a known key does not.
func (r *remote) open(ctx context.Context, token *jwt.JSONWebToken, c *claims) error {
	header := token.Headers[0]
	set, err := r.keys.current(ctx)
	if err != nil {
		return err
	}
	candidates := set.candidates(header)
	if header.KeyID == "" && !decodeAny(token, candidates, c) || len(candidates) == 0 {
		if set, err = r.keys.newer(ctx, set); err != nil {
			return err
		}
		candidates = set.candidates(header)
	}
	switch {
	case len(candidates) == 0:
		return refuse("the token's key is unknown")
	case !decodeAny(token, candidates, c):
		return refuse("the token's signature is wrong")
	}
	return nil
}

func decodeAny(token *jwt.JSONWebToken, keys []jose.JSONWebKey, c *claims) bool {
	for _, key := range keys {
		if decode(token, key, c) == nil {
			return true
		}
		*c = claims{}
	}
	return false
}

func (r *remote) identify(c *claims) (events.User, error) {
	all := c.all
	subject, _ := all[r.config.UserClaim].(string)
	if !usable(subject) {
		return events.User{}, fault.Errorf(fault.Unauthenticated, "the token's claim %q names no user", r.config.UserClaim)
	}
	user := events.User{Principal: events.Principal("user:" + r.config.Alias + "/" + subject)}
	for _, g := range texts(all[r.config.GroupsClaim]) {
		if usable(g) && len(user.Groups) < maxTokenGroups {
			user.Groups = append(user.Groups, events.Principal("group:"+r.config.Alias+"/"+g))
		}
	}
	if r.config.AdminClaim != "" {
		value := all[r.config.AdminClaim]
		if b, ok := value.(bool); ok {
			user.Admin = b && r.config.AdminValue == "true"
		}
		for _, s := range texts(value) {
			user.Admin = user.Admin || s == r.config.AdminValue
		}
	}
	return user, nil
}

// current is what the token said: its issuer answers for it until it expires.
func (r *remote) current(_ context.Context, t verified) (events.User, error) {
	user := t.user
	user.Groups = slices.Clone(user.Groups) // the remembered ones stay ours
	return user, nil
}

// usable reports whether a foreign name can be part of a principal.
func usable(name string) bool {
	return strings.TrimSpace(name) != "" && len(name) <= maxSubjectBytes && utf8.ValidString(name) && !strings.ContainsFunc(name, invisible)
}

// texts returns the strings of a claim that is one or an array of them.
func texts(claim any) []string {
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
