package signin

import (
	"context"
	"slices"
	"sync"
	"testing"
)

// observed are the events of an account store.
type observed struct {
	mu  sync.Mutex
	all []Event
}

func observe(a *Accounts) *observed {
	o := new(observed)
	a.Observe = func(_ context.Context, e Event) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.all = append(o.all, e)
	}
	return o
}

// take returns the events since the last call.
func (o *observed) take() []Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.all
	o.all = nil
	return all
}

func TestSignInsAndChangesAreObserved(t *testing.T) {
	s := newSite(t)
	o := observe(s.accounts)
	want := func(what string, want ...Event) {
		t.Helper()
		if got := o.take(); !slices.Equal(got, want) {
			t.Errorf("%s is observed as %+v, want %+v", what, got, want)
		}
	}
	const here = "127.0.0.1"
	b := s.browser()
	page := b.open("/signin/")
	b.submit(page, "/login", "username", "alice", "password", "wrong")
	want("a wrong password", Event{Kind: SignInFailed, User: "alice", Address: here, Detail: "password"})
	b.submit(page, "/login", "username", "correct horse", "password", "alice")
	want("a password typed as the name", Event{Kind: SignInFailed, Address: here, Detail: "password"})
	home := b.signIn(page, "alice")
	want("a sign-in", Event{Kind: SignedIn, User: "alice", Address: here, Detail: "password"})
	p := s.register(elsewhere)
	refresh := p.redeem(p.code(b)).told("refresh_token")
	want("a sign-in to a program", Event{Kind: ProgramAllowed, User: "alice", Address: here, Client: p.id}, Event{Kind: KeyAdded, Detail: signingKeyID(t, s)})
	p.refresh(refresh)
	p.refresh(refresh)
	want("a refresh token used twice", Event{Kind: ProgramMisused, User: "alice", Client: p.id, Detail: "the refresh token was used before"})
	b.submit(home, "/logout")
	want("signing out", Event{Kind: SignedOut, User: "alice", Address: here})
	if err := s.accounts.SetAdmin(t.Context(), "alice", true); err != nil {
		t.Fatal(err)
	}
	s.issue(t, "alice")
	want("what operators do", Event{Kind: UserChanged, User: "alice", Detail: "admin"}, Event{Kind: TokenIssued, User: "alice"})
}

func signingKeyID(t *testing.T, s *site) string {
	t.Helper()
	key, err := s.accounts.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return key.ID
}
