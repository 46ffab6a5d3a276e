package service

import (
	"net"
	"strings"
	"testing"
)

func TestCheckConsole(t *testing.T) {
	issuers := []string{"url=https://login.example/a,alias=a,audience=x", "url=https://login.example/b,alias=b,audience=console"}
	const good = "https://login.example/b"
	for what, c := range map[string]struct {
		console Console
		says    string // part of the error; "" if there is none
	}{
		"nothing":            {Console{}, ""},
		"off":                {Console{Off: true}, ""},
		"an issuer":          {Console{Issuer: good, ClientID: "console"}, ""},
		"with a secret":      {Console{Issuer: good, ClientID: "console", ClientSecret: "hush"}, ""},
		"off with an issuer": {Console{Off: true, Issuer: good, ClientID: "console"}, "no effect with --no-console"},
		"no client id":       {Console{Issuer: good, ClientSecret: "hush"}, "needs --console-client-id"},
		"only a client id":   {Console{ClientID: "console"}, "no effect without --console-issuer"},
		"only a secret":      {Console{ClientSecret: "hush"}, "no effect without --console-issuer"},
		"another issuer":     {Console{Issuer: good + "/", ClientID: "console", ClientSecret: "hush"}, "must be the url of an --issuer"},
	} {
		err := c.console.check(issuers)
		if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hush")) {
			t.Errorf("%s: %v, want %q", what, err, c.says)
		}
	}
}

func TestHostOfConsole(t *testing.T) {
	for _, c := range []struct {
		core, vault, mcp, issuer string
		atRoot                   string // URL that takes all paths of the host
		oneHost                  bool
	}{
		{"", "", "", "", "", false},
		{"https://a.example/core", "https://a.example/vault", "https://a.example/mcp", "https://a.example/signin", "", false},
		{"https://a.example/core", "https://a.example/vault", "https://a.example/mcp", "https://b.example/signin", "", true},
		{"https://a.example/core", "https://a.example/vault", "https://a.example/mcp", "https://b.example", "https://b.example", true},
		{"https://a.example", "https://a.example/vault", "https://a.example/mcp", "https://A.example/signin", "https://a.example", false},
		{"https://a.example/", "https://b.example", "https://c.example", "https://d.example/signin", "", true},
	} {
		config := Config{CoreURL: c.core, VaultURL: c.vault, MCPURL: c.mcp, IssuerURL: c.issuer}
		urls, err := config.urls(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if u := urls.atRoot(); u != nil {
			got = strings.TrimSuffix(u.String(), "/")
		}
		if got != c.atRoot || urls.oneHost() != c.oneHost {
			t.Errorf("%+v: the URL %q takes all paths, and one host is %v", c, got, urls.oneHost())
		}
	}
}
