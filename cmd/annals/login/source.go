package login

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"annals/events/fault"
)

// Source gives the tokens of a sign-in that is kept, and refreshes them in time.
// Of all processes that use the sign-in one does so; the others read what it got.
// Methods may be called from several goroutines.
type Source struct {
	Store  Store
	Server string
	HTTP   *http.Client

	mu   sync.Mutex
	last Login
}

// errEnded says that a sign-in cannot be refreshed any more.
var errEnded = fault.Errorf(fault.Unauthenticated, "it has expired")

// Token returns a token that lasts for a while, and is another than the one that
// was refused, which is "" at first. The error is Unauthenticated where only a new
// sign-in helps, and Unavailable where the issuer cannot answer.
func (s *Source) Token(ctx context.Context, refused string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.serves(refused) {
		return s.last.Bearer(), nil
	}
	l, _, err := s.Store.Get(s.Server)
	if err == nil && !l.serves(refused) {
		err = s.Store.change(ctx, func(all map[string]Login) error {
			l, err = s.renew(ctx, all, refused)
			return err
		})
	}
	switch {
	case fault.Is(err, fault.Unauthenticated):
		return "", fault.Errorf(fault.Unauthenticated, "the sign-in to %s has ended (%w): sign in again by annals login --server %s", s.Server, err, s.Server)
	case err != nil:
		return "", fmt.Errorf("renew the sign-in to %s: %w", s.Server, err)
	}
	s.last = l
	return l.Bearer(), nil
}

// renew refreshes the sign-in among all, unless another process has done so.
func (s *Source) renew(ctx context.Context, all map[string]Login, refused string) (Login, error) {
	l, found := all[s.Server]
	switch {
	case !found:
		return l, fault.Errorf(fault.Unauthenticated, "somebody signed out")
	case l.serves(refused):
		return l, errUnchanged
	}
	next, err := refresh(ctx, l, s.HTTP)
	if err != nil {
		if l.Bearer() != refused && time.Now().Before(l.Expires) {
			return l, errUnchanged // the token still does, and there is time for another try
		}
		return l, err
	}
	all[s.Server] = next
	return next, nil
}

// refresh refreshes a sign-in, and is not to be interrupted: an answer that
// nobody reads leaves a refresh token that was used, and by which the issuer
// would take the next one who uses it for a thief.
func refresh(ctx context.Context, l Login, client *http.Client) (Login, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return l.refresh(ctx, client)
}
