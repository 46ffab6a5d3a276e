package sealed

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestOpen(t *testing.T) {
	key, now := NewKey(), time.Now()
	text, err := key.Seal("ticket", "value", now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var got string
	s, err := key.Open("ticket", text, &got, now)
	if err != nil || got != "value" || s.ID == "" || s.Expires.Unix() != now.Add(time.Minute).Unix() {
		t.Errorf("Open = %+v %q, %v", s, got, err)
	}
	if _, err := key.Open("ticket", text, &got, now.Add(time.Minute)); !errors.Is(err, ErrExpired) {
		t.Errorf("Open when the text expires: %v, want ErrExpired", err)
	}
	other, _ := key.Seal("ticket", "other", now.Add(time.Minute))
	body, signature, _ := strings.Cut(text, ".")
	for name, forged := range map[string]string{
		"an empty text": "", "no signature": body, "an empty signature": body + ".", "the signature of another text": strings.Split(other, ".")[0] + "." + signature,
		"a character added": text + "A", "a text too long": text + strings.Repeat("A", maxText),
	} {
		if _, err := key.Open("ticket", forged, &got, now); !errors.Is(err, errForged) {
			t.Errorf("Open with %s: %v, want errForged", name, err)
		}
	}
	if _, err := key.Open("code", text, &got, now); !errors.Is(err, errForged) {
		t.Errorf("Open for another purpose: %v, want errForged", err)
	}
	if _, err := NewKey().Open("ticket", text, &got, now); !errors.Is(err, errForged) {
		t.Errorf("Open with another key: %v, want errForged", err)
	}
}
