package service

import (
	"net"
	"testing"
)

func TestCheckAcceptsOriginsAndAdmins(t *testing.T) {
	for _, origin := range []string{"*", "http://localhost:6274", "https://app.example", "chrome-extension://abcdef", "http://[::1]:6274"} {
		if err := checkOrigin(origin); err != nil {
			t.Error(err)
		}
	}
	for _, admin := range []string{"user:alice", "user:corp/alice", "user:corp/auth0|a/b"} {
		if err := checkAdmin(admin); err != nil {
			t.Error(err)
		}
	}
}

func TestURLsFollowListenAddress(t *testing.T) {
	for listening, want := range map[string]string{
		"127.0.0.1:81": "http://127.0.0.1:81/core", "[::]:82": "http://localhost:82/core", "0.0.0.0:83": "http://localhost:83/core", "[::1]:84": "http://[::1]:84/core",
	} {
		addr, err := net.ResolveTCPAddr("tcp", listening)
		if err != nil {
			t.Fatal(err)
		}
		a, err := new(Config).urls(addr)
		if err != nil || a.core.String() != want {
			t.Errorf("listening on %s the core is at %s (%v), want %s", listening, a.core, err, want)
		}
	}
}
