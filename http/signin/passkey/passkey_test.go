package passkey

import (
	"encoding/json"
	"errors"
	"net/url"
	"testing"

	"annals/http/signin/passkey/passkeytest"

	"github.com/descope/virtualwebauthn"
)

func keysAt(t *testing.T, address string) (*Keys, error) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return New(u)
}

func options(t *testing.T, o any, err error) string {
	t.Helper()
	text, errJSON := json.Marshal(o)
	if err != nil || errJSON != nil {
		t.Fatal(err, errJSON)
	}
	return string(text)
}

func TestNewRejectsAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"https://annals.example.org/signin": true, "http://localhost:8080/signin": true, "http://127.0.0.1:8080/signin": false,
		"http://annals.example.org/signin": false, "https://[::1]/signin": false,
	} {
		if _, err := keysAt(t, address); (err == nil) != want {
			t.Errorf("at %s: %v", address, err)
		}
	}
}

func TestSignIn(t *testing.T) {
	k, err := keysAt(t, "https://annals.example.org/signin")
	if err != nil {
		t.Fatal(err)
	}
	rp := virtualwebauthn.RelyingParty{Name: "Annals", ID: "annals.example.org", Origin: "https://annals.example.org"}
	device := virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{UserHandle: []byte("handle")})
	held := passkeytest.NewCredential(t)
	alice := User{Handle: []byte("handle"), Name: "alice"}

	asked, ceremony, err := k.BeginRegistration(alice)
	create, err := virtualwebauthn.ParseAttestationOptions(options(t, asked, err))
	if err != nil {
		t.Fatal(err)
	}
	answer := virtualwebauthn.CreateAttestationResponse(rp, device, held, *create)
	made, err := k.FinishRegistration(alice, *ceremony, []byte(answer))
	if err != nil || string(made.ID) != string(held.ID) {
		t.Fatalf("Created = %+v, %v", made, err)
	}
	if _, err := k.FinishRegistration(User{Handle: []byte("another")}, *ceremony, []byte(answer)); !errors.Is(err, ErrRefused) {
		t.Errorf("for another user: %v", err)
	}
	alice.Credentials = []Credential{made}
	device.AddCredential(held)

	sign := func(rp virtualwebauthn.RelyingParty, device virtualwebauthn.Authenticator, of *Ceremony, find func([]byte) (User, error)) error {
		asked, ceremony, err := k.BeginLogin()
		ask, err := virtualwebauthn.ParseAssertionOptions(options(t, asked, err))
		if err != nil {
			t.Fatal(err)
		}
		if of == nil {
			of = ceremony
		}
		used, err := k.FinishLogin(*of, []byte(virtualwebauthn.CreateAssertionResponse(rp, device, held, *ask)), find)
		if err == nil && string(used.ID) != string(held.ID) {
			t.Errorf("another passkey was used")
		}
		return err
	}
	find := func(handle []byte) (User, error) {
		if string(handle) != "handle" {
			return User{}, ErrRefused
		}
		return alice, nil
	}
	if err := sign(rp, device, nil, find); err != nil {
		t.Errorf("signing in: %v", err)
	}
	evil := rp
	evil.Origin = "https://evil.example"
	locked := device
	locked.Options.UserNotVerified = true
	failure := errors.New("the store failed")
	for name, err := range map[string]error{
		"at another site":   sign(evil, device, nil, find),
		"without unlocking": sign(rp, locked, nil, find),
		"an old question":   sign(rp, device, ceremony, find),
		"one that is not known": sign(rp, device, nil, func([]byte) (User, error) {
			return User{Handle: []byte("handle"), Name: "alice"}, nil
		}),
	} {
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
	}
	if err := sign(rp, device, nil, func([]byte) (User, error) { return User{}, failure }); !errors.Is(err, failure) {
		t.Errorf("where the store fails: %v", err)
	}
}

func FuzzAnswers(f *testing.F) {
	k, err := New(&url.URL{Scheme: "https", Host: "annals.example.org"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AA","signature":"AA","userHandle":"AA"}}`))
	f.Add([]byte(`{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"e30","attestationObject":"oA"}}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		_, c, err := k.BeginLogin()
		if err != nil {
			t.Fatal(err)
		}
		user := User{Handle: []byte("AA"), Name: "alice"}
		if _, err := k.FinishLogin(*c, answer, func([]byte) (User, error) { return user, nil }); err == nil {
			t.Error("an answer without a key is taken")
		}
		if _, err := k.FinishRegistration(user, *c, answer); err == nil {
			t.Error("a passkey that answers nothing is taken")
		}
	})
}
