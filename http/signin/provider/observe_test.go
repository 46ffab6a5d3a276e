package provider

import (
	"context"
	"slices"
	"sync"
	"testing"

	"annals/http/signin/accounts"
)

// observed collects the events that a store passes to Observe.
type observed struct {
	mu  sync.Mutex
	all []accounts.Event
}

func observe(a *accounts.Store) *observed {
	o := new(observed)
	a.Observe = func(_ context.Context, e accounts.Event) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.all = append(o.all, e)
	}
	return o
}

// take returns the events since the last call of take.
func (o *observed) take() []accounts.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.all
	o.all = nil
	return all
}

func TestObserve(t *testing.T) {
	s := newSite(t)
	o := observe(s.Accounts)
	want := func(what string, want ...accounts.Event) {
		t.Helper()
		if got := o.take(); !slices.Equal(got, want) {
			t.Errorf("events of %s are %+v, want %+v", what, got, want)
		}
	}
	const address = "127.0.0.1"
	b := s.browser()
	page := b.open("/signin/")
	b.submit(page, "/login", "username", "alice", "password", "wrong")
	want("a wrong password", accounts.Event{Kind: accounts.SignInFailed, User: "alice", Address: address, Detail: "password"})
	b.submit(page, "/login", "username", "correct horse", "password", "alice")
	want("a password typed as the name", accounts.Event{Kind: accounts.SignInFailed, Address: address, Detail: "password"})
	home := b.signIn(page, "alice")
	want("a sign-in", accounts.Event{Kind: accounts.SignedIn, User: "alice", Address: address, Detail: "password"})
	p := s.register(webRedirect)
	refresh := p.redeem(p.code(b)).field("refresh_token")
	want("a sign-in to a program", accounts.Event{Kind: accounts.ProgramAllowed, User: "alice", Address: address, Client: p.id}, accounts.Event{Kind: accounts.KeyAdded, Detail: signingKeyID(t, s)})
	p.refresh(refresh)
	p.refresh(refresh)
	want("a refresh token used twice", accounts.Event{Kind: accounts.ProgramMisused, User: "alice", Client: p.id, Detail: "the refresh token was used before"})
	b.submit(home, "/logout")
	want("signing out", accounts.Event{Kind: accounts.SignedOut, User: "alice", Address: address})
	if err := s.Accounts.SetAdmin(t.Context(), "alice", true); err != nil {
		t.Fatal(err)
	}
	s.Issue(t, "alice")
	want("operator commands", accounts.Event{Kind: accounts.UserChanged, User: "alice", Detail: "admin"}, accounts.Event{Kind: accounts.TokenIssued, User: "alice"})
}

func signingKeyID(t *testing.T, s *site) string {
	t.Helper()
	key, err := s.Accounts.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return key.ID
}
