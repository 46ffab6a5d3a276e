package login_test

import (
	"testing"

	"annals/cmd/annals/login"
)

func TestServerURL(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8080/core":       "http://127.0.0.1:8080/core",
		"HTTPS://Annals.Example:443/Core/": "https://annals.example/Core",
		"http://h:80":                      "http://h",
		"http://h:443/":                    "http://h:443",
		"https://me:secret@h/core?x#y":     "https://h/core",
		"ftp://h/core":                     "",
		"h/core":                           "",
		"http:///core":                     "",
		"":                                 "",
	} {
		got, err := login.ServerURL(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("ServerURL(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
}
