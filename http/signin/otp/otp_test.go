package otp

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
)

func TestStep(t *testing.T) {
	secret, err := New("Annals at example.org", "alice")
	if err != nil || !strings.HasPrefix(secret.URL, "otpauth://totp/") || len(secret.Text) < 32 {
		t.Fatalf("New = %+v, %v", secret, err)
	}
	now := time.Unix(1_700_000_010, 0)
	for offset, want := range map[time.Duration]bool{-61 * time.Second: false, -30 * time.Second: true, 0: true, 30 * time.Second: true, 61 * time.Second: false} {
		code, err := totp.GenerateCode(secret.Text, now.Add(offset))
		if err != nil {
			t.Fatal(err)
		}
		step, ok := Step(secret.Text, code[:3]+" "+code[3:], now)
		if ok != want || ok && step != now.Add(offset).Unix()/period {
			t.Errorf("Step of the code of %s later = %d, %v; want %v", offset, step, ok, want)
		}
	}
	for _, code := range []string{"", "12345", "1234567", "abcdef", strings.Repeat("1", 1000)} {
		if _, ok := Step(secret.Text, code, now); ok {
			t.Errorf("Step(%.10q) accepts the code", code)
		}
	}
}

func TestPlainRecovery(t *testing.T) {
	codes := NewRecoveryCodes()
	seen := map[string]bool{}
	for _, code := range codes {
		want := strings.ReplaceAll(code, "-", "")
		if got := PlainRecovery(" " + strings.ToUpper(code)); got != want || len(want) != recoveryChars {
			t.Errorf("PlainRecovery(%q) = %q, want %q", code, got, want)
		}
		seen[code] = true
	}
	if len(seen) != recoveryCodes || PlainRecovery("123456") != "" {
		t.Errorf("got the codes %v, want %d different ones; PlainRecovery(123456) = %q", codes, recoveryCodes, PlainRecovery("123456"))
	}
}

func TestDraw(t *testing.T) {
	a, err := Draw("otpauth://totp/x")
	b, _ := Draw("otpauth://totp/y")
	if err != nil || a.Size < 21+2*margin || a.Path == b.Path || !strings.HasPrefix(a.Path, "M4 4h1v1h-1z") {
		t.Errorf("Draw = %+v, %v", a, err)
	}
}
