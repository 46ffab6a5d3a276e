package apitoken

import (
	"bytes"
	"crypto/sha256"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestNew(t *testing.T) {
	pattern, seen, used := regexp.MustCompile(`^annals_[0-9A-Za-z]{40}$`), map[string]bool{}, map[rune]bool{}
	for range 2000 {
		token, id := New()
		if !pattern.MatchString(token) || seen[token] || seen[id] || !IsID(id) || len(id) != 14 || !Is(token) {
			t.Fatalf("New = %q, %q", token, id)
		}
		seen[token], seen[id] = true, true
		for _, c := range token[len(prefix):checkedLength] {
			used[c] = true
		}
		sum := sha256.Sum256([]byte(token))
		if got, ok := Digest(token); !ok || !bytes.Equal(got, sum[:]) {
			t.Fatalf("Digest(%q) = %x, %t", token, got, ok)
		}
	}
	if len(used) != len(alphabet) {
		t.Errorf("2000 tokens use %d different characters, want all %d", len(used), len(alphabet))
	}
}

func TestDigestRejectsInvalidTokens(t *testing.T) {
	token, id := New()
	for _, text := range []string{
		"", id, prefix, token[:len(token)-1], token + "0", " " + token, token + "\n", strings.ToLower(token), strings.ToUpper(token),
		token[:20] + "\x00" + token[21:], prefix + strings.Repeat("é", 20), strings.Repeat("a", 1<<16),
	} {
		if _, ok := Digest(text); ok {
			t.Errorf("Digest(%.60q) accepts it as a token", text)
		}
	}
	for i := range token {
		other := byte('x')
		if token[i] == other {
			other = 'y'
		}
		if _, ok := Digest(token[:i] + string(other) + token[i+1:]); ok {
			t.Errorf("Digest accepts a token whose character %d was changed", i)
		}
	}
}

// The id of a grant (22 characters of base64url) may begin like the id of an API token, but
// IsID rejects it.
func TestIsID(t *testing.T) {
	for _, text := range []string{"", "t-", "t-abc", "t-3xYzAbCdEfGhIjKlMnOp", "t-abcdefghjkmnpqrstuvw", "t-abcdefghjkml", "t-ABCDEFGHJKMN", "x-abcdefghjkmn", "t-abcdefghjkmn "} {
		if IsID(text) {
			t.Errorf("IsID(%q) = true, want false", text)
		}
	}
	if !IsID("t-abcdefghjkmn") {
		t.Error(`IsID("t-abcdefghjkmn") = false, want true`)
	}
}

func TestNarrowed(t *testing.T) {
	for _, c := range []struct {
		scope     Scope
		requested string
		want      Scope
		ok        bool
	}{
		{Read, "", Read, true}, {Write, "", Write, true}, {Write, "read", Read, true}, {Write, "read write", Write, true}, {Write, "write read", Write, true},
		{Read, "read", Read, true}, {Read, "write", "", false}, {Read, "read write", "", false}, {Write, "openid", Write, true}, {Read, "openid offline_access", Read, true},
	} {
		if got, ok := c.scope.Narrowed(c.requested); got != c.want && ok || ok != c.ok {
			t.Errorf("%s.Narrowed(%q) = %q, %t; want %q, %t", c.scope, c.requested, got, ok, c.want, c.ok)
		}
	}
	if _, err := ParseScope("admin"); err == nil {
		t.Error(`ParseScope("admin") succeeds, want an error`)
	}
}

func TestLifetime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90d": 90 * day, "2160h": 90 * day, "1m": time.Minute, "366d": 366 * day,
		"0": 0, "0d": 0, "-1d": 0, "367d": 0, "never": 0, "90": 0, "1e3d": 0, "99999999999999999999d": 0, "30s": 0, "": 0, "d": 0,
	} {
		var l Lifetime
		if err := l.Set(text); (err == nil) != (want > 0) || time.Duration(l) != want {
			t.Errorf("Set(%q) = %v, %v; want %v", text, time.Duration(l), err, want)
		}
	}
	l := Lifetime(DefaultLifetime)
	if l.String() != "90d" || DefaultLifetime > MaxLifetime {
		t.Errorf("the default lifetime is %s, want 90d and at most %s", l.String(), MaxLifetime)
	}
}
