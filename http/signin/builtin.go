package signin

import (
	"context"

	"github.com/go-jose/go-jose/v4/jwt"

	"annals/events"
)

// builtIn judges the tokens of the built-in issuer by its own store.
type builtIn struct{ *Issuer }

func (b builtIn) meant(audiences jwt.Audience, audience string) bool {
	return audiences.Contains(audience)
}

func (b builtIn) open(ctx context.Context, token *jwt.JSONWebToken, c *claims) error {
	key, found, err := b.accounts.key(ctx, token.Headers[0].KeyID)
	if err != nil {
		return err
	}
	if !found {
		return refuse("the token's key is unknown")
	}
	if err := decode(token, key.Public(), c); err != nil {
		return refuse("the token's signature is wrong")
	}
	return nil
}

// identify takes no more than the name from the claims; current does the rest.
func (b builtIn) identify(c *claims) (events.User, error) {
	return events.User{Principal: events.Principal("user:" + c.Subject)}, nil
}

// current reads the account, so that what was changed since the token was signed
// holds: the token itself proves the name alone.
func (b builtIn) current(ctx context.Context, t verified) (events.User, error) {
	s, found, err := b.accounts.standing(ctx, t.user.Principal.Name(), t.keyID, t.grant, b.now())
	switch {
	case err != nil:
		return events.User{}, err
	case !found:
		return events.User{}, refuse("the token's user does not exist")
	case s.Disabled:
		return events.User{}, refuse("the token's user is disabled")
	case !s.key:
		return events.User{}, refuse("the token's key is unknown")
	case !s.grant:
		return events.User{}, refuse("the sign-in that the token came from has ended")
	}
	user := t.user // as the token has it
	user.Admin, user.Groups = s.Admin, groupsOf(s.Groups)
	return user, nil
}

// groupsOf returns the groups of an account as principals.
func groupsOf(names []string) (groups []events.Principal) {
	for _, g := range names {
		groups = append(groups, events.Principal("group:"+g))
	}
	return groups
}
