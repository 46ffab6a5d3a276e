package provider

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"annals/http/signin/accounts"
)

func TestRotatedKeyVerifiesUntilTokensExpire(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	first := p.redeem(p.code(b))
	old, err := s.Accounts.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next, err := s.Accounts.RotateKey(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	s.wantToken(first.field("access_token"), true)
	second := p.refresh(first.field("refresh_token"))
	s.wantToken(second.field("access_token"), true)
	if jwks := s.send("GET", "/signin/jwks", ""); !strings.Contains(jwks.body, old.ID) || !strings.Contains(jwks.body, next.ID) {
		t.Errorf("the published keys are %s, want both the old and the new one", jwks.body)
	}
	if got, err := s.Accounts.SigningKey(t.Context()); err != nil || got.ID != next.ID {
		t.Errorf("SigningKey = %s, %v; want the new %s", got.ID, err, next.ID)
	}
	s.Clock.Advance(accounts.TokenLifetime + 2*accounts.ClockSkew + time.Minute)
	s.register(webRedirect) // any request deletes expired keys
	if keys, err := s.Accounts.Keys(t.Context()); err != nil || len(keys) != 1 || keys[0].ID != next.ID {
		t.Errorf("after the overlap the keys are %v, %v; want only %s", keys, err, next.ID)
	}
}

func TestRotateKeyImmediately(t *testing.T) {
	s := newSite(t)
	o := observe(s.Accounts)
	p, b := s.register(webRedirect), s.browser()
	first := p.redeem(p.code(b))
	s.wantToken(first.field("access_token"), true)
	o.take()
	before, err := s.Accounts.SealKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key, err := s.Accounts.RotateKey(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := o.take(); len(got) != 2 || got[0].Kind != accounts.KeyAdded || got[0].Detail != key.ID || got[1].Kind != accounts.KeyDeleted {
		t.Errorf("events of the rotation are %+v, want the new key added and the old one deleted", got)
	}
	if _, _, err := s.tools.Verify(t.Context(), first.field("access_token")); err == nil {
		t.Error("a token of the old key is still accepted")
	}
	if after, err := s.Accounts.SealKey(t.Context()); err != nil || after == before {
		t.Errorf("the key of sealed texts is unchanged (%v)", err)
	}
	a := p.refresh(first.field("refresh_token"))
	if a.StatusCode != http.StatusOK {
		t.Fatalf("refresh = %s %s", a.Status, a.body)
	}
	s.wantToken(a.field("access_token"), true)
}

func TestScheduledKeyRotation(t *testing.T) {
	s := newSite(t)
	s.provider.rotation = 48 * time.Hour
	if _, err := s.Accounts.SigningKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		s.register(webRedirect)
		keys, err := s.Accounts.Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	s.Clock.Advance(47 * time.Hour)
	if got := count(); got != 1 {
		t.Errorf("after 47 hours there are %d keys, want 1", got)
	}
	s.Clock.Advance(2 * time.Hour)
	if got := count(); got != 2 {
		t.Errorf("after 49 hours there are %d keys, want 2", got)
	}
}
