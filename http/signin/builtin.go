package signin

import (
	"context"

	"annals/events"

	"github.com/go-jose/go-jose/v4/jwt"
)

// builtIn verifies tokens of the built-in issuer, with the signing keys in the account store.
type builtIn struct{ *Issuer }

func (b builtIn) intendedFor(audiences jwt.Audience, required string) bool {
	return audiences.Contains(required)
}

func (b builtIn) verify(ctx context.Context, token *jwt.JSONWebToken, c *claims) error {
	key, found, err := b.accounts.Key(ctx, token.Headers[0].KeyID)
	if err != nil {
		return err
	}
	if !found {
		return unauthenticated("the token's key is unknown")
	}
	if err := verifySignature(token, key.Public(), c); err != nil {
		return unauthenticated("the token's signature is wrong")
	}
	return nil
}

// identify returns only the user's name. Groups and rights come from current.
func (b builtIn) identify(c *claims) (events.User, error) {
	return events.User{Principal: events.Principal("user:" + c.Subject)}, nil
}

// current reads the user's groups and rights from the account, so that changes take effect for
// tokens that were signed before. Only the name comes from the token.
func (b builtIn) current(ctx context.Context, t verified) (events.User, error) {
	s, found, err := b.accounts.Bearer(ctx, t.user.Principal.Name(), t.keyID, t.grant, b.now())
	switch {
	case err != nil:
		return events.User{}, err
	case !found:
		return events.User{}, unauthenticated("the token's user does not exist")
	case s.Disabled:
		return events.User{}, unauthenticated("the token's user is disabled")
	case !s.KeyKnown:
		return events.User{}, unauthenticated("the token's key is unknown")
	case !s.GrantValid:
		return events.User{}, unauthenticated("the sign-in that the token was issued for has ended")
	}
	user := s.Account.User()
	user.Token, user.ReadOnly = t.user.Token, t.user.ReadOnly
	return user, nil
}
