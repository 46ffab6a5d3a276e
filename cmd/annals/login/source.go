package login

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"annals/events/fault"
)

// Source returns tokens of a stored sign-in, and refreshes them before they expire. If
// several processes use the same sign-in, only one refreshes the tokens, and the others
// read the new tokens from the store. Methods may be called from several goroutines.
type Source struct {
	Store  Store
	Server string
	HTTP   *http.Client

	mu   sync.Mutex
	last Login
}

// errExpired is returned if a sign-in has expired and has no refresh token, or an
// invalid one.
var errExpired = fault.Errorf(fault.Unauthenticated, "it has expired")

// Token returns a token that does not expire soon. If the server has rejected a token,
// refused is that token, and Token returns another one; otherwise refused is "". The
// error is Unauthenticated if the person has to sign in again, and Unavailable if the
// issuer cannot respond now.
func (s *Source) Token(ctx context.Context, refused string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.isUsable(refused) {
		return s.last.Bearer(), nil
	}
	l, _, err := s.Store.Get(s.Server)
	if err == nil && !l.isUsable(refused) {
		err = s.Store.change(ctx, func(all map[string]Login) error {
			l, err = s.renew(ctx, all, refused)
			return err
		})
	}
	switch {
	case fault.Is(err, fault.Unauthenticated):
		return "", fault.Errorf(fault.Unauthenticated, "the sign-in to %s is no longer valid (%w): sign in again with annals login --server %s", s.Server, err, s.Server)
	case err != nil:
		return "", fmt.Errorf("renew the sign-in to %s: %w", s.Server, err)
	}
	s.last = l
	return l.Bearer(), nil
}

// renew refreshes the tokens of the sign-in in all, unless another process has already
// done so.
func (s *Source) renew(ctx context.Context, all map[string]Login, refused string) (Login, error) {
	l, found := all[s.Server]
	switch {
	case !found:
		return l, fault.Errorf(fault.Unauthenticated, "the user has signed out")
	case l.isUsable(refused):
		return l, errUnchanged
	}
	next, err := refresh(ctx, l, s.HTTP)
	if err != nil {
		if l.Bearer() != refused && time.Now().Before(l.Expires) {
			return l, errUnchanged // the current token is still valid; a later call refreshes it
		}
		return l, err
	}
	all[s.Server] = next
	return next, nil
}

// refresh refreshes the tokens of a sign-in even if ctx ends meanwhile. If it stopped,
// the reply could be lost. The store would then keep a refresh token that was already
// used, and an issuer that receives it again assumes that it was stolen.
func refresh(ctx context.Context, l Login, client *http.Client) (Login, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return l.refresh(ctx, client)
}
