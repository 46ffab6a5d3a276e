package meilisearch

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]location{
		"meilisearch://host":                                {"http://host:7700", "", "annals-"},
		"meilisearch://KEY@host:7701?prefix=P_":             {"http://host:7701", "KEY", "P_"},
		"meilisearch://a%2Fb@[::1]/search/?tls=true&prefix": {"https://[::1]:7700/search", "a/b", ""},
	} {
		if got, err := parseURL(text); err != nil || got != want {
			t.Errorf("parseURL(%s) = %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestURLErrorsOmitKey(t *testing.T) {
	for _, text := range []string{
		"meilisearch://a?SECRET@search:7700",
		"meilisearch://SECRET@", "meilisearch://SECRET@host:port", "meilisearch:SECRET@host", "http://SECRET@host", "meilisearch://SECRET@host?prefix=a/b",
		"meilisearch://SECRET@host?tls=maybe", "meilisearch://SECRET@host?timeout=3", "meilisearch://:SECRET@host", "meilisearch://SECRET@host#x", "meilisearch://SECRET%zz@host",
	} {
		if _, err := parseURL(text); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("parseURL(%s) = %v, want an error without the key", text, err)
		}
	}
}
