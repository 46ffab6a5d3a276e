package signin_test

import (
	"os"
	"path/filepath"
	"testing"

	"annals/http/signin"
)

func TestURLs(t *testing.T) {
	dir := t.TempDir()
	fallback := signin.DefaultURLs("h:1")
	if got, err := signin.ReadURLs(dir, fallback); err != nil || got != fallback || got.Issuer != "http://h:1/signin" {
		t.Errorf("ReadURLs of an empty folder = %+v, %v; want the defaults", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "urls.json.new"), []byte("cut off"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := signin.URLs{Core: "http://h/core", Vault: "http://h/vault", MCP: "http://h/mcp", Issuer: "http://h/signin", Audience: "x"}
	if err := signin.WriteURLs(dir, want); err != nil {
		t.Fatal(err)
	}
	if got, err := signin.ReadURLs(dir, fallback); err != nil || got != want {
		t.Errorf("ReadURLs = %+v, %v; want %+v", got, err, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder contains %v (%v), want one file", left, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "urls.json"), []byte(`{"core"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := signin.ReadURLs(dir, fallback); err == nil {
		t.Errorf("ReadURLs of a corrupt file = %+v, want an error", got)
	}
}
