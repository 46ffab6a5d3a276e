package eventstoredb_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/eventstoredb"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/fault"
	"annals/events/memory"
)

// openURL calls Open, and closes the driver when the test ends.
func openURL(t *testing.T, url string) (events.Driver, error) {
	t.Helper()
	d, err := eventstoredb.Open(t.Context(), url)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, nil
}

func TestBadURLErrorsOmitPassword(t *testing.T) {
	for url, want := range map[string]string{
		"esdb://":                                             "the user or the host in the URL of the log cannot be parsed",
		"esdb://me:secret@":                                   "the user or the host in the URL of the log cannot be parsed",
		"esdb://me:secret@host:port":                          "the user or the host in the URL of the log cannot be parsed",
		"esdb://me:sec/secret@host":                           "the user or the host in the URL of the log cannot be parsed",
		"esdb://me:%zzsecret@host":                            "the user or the host in the URL of the log cannot be parsed",
		"esdb://me:a?secret@host:2113?tls=false":              "write %3F",
		"http://me:secret@host":                               "write esdb://",
		"esdb://me:secret@host?tls=perhaps":                   "tls",
		"esdb://me:secret@host?tsl=false":                     `"tsl"`,
		"esdb://me:secret@host?tlsCaFile=/nowhere/ca.crt":     "/nowhere/ca.crt",
		"esdb://me:secret@host?userCertFile=/nowhere/cert":    "userKeyFile",
		"esdb://me:secret@host?nodePreference=follower":       "leader",
		"esdb://me:secret@host?defaultDeadline=soon":          "defaultDeadline",
		"esdb://me:secret@host?defaultDeadline=":              "defaultDeadline",
		"esdb://me:secret@host?gossipTimeout=0":               "gossipTimeout",
		"esdb://me:secret@host?prefix=$system":                "$system",
		"esdb://me:secret@host:2113,host:port?tls=false":      "the user or the host in the URL of the log cannot be parsed",
		"esdb://me:secret@host:67649?tls=false":               "a port that is not from 1 to 65535",
		"esdb://me:secret@host:0":                             "a port that is not from 1 to 65535",
		"esdb://me:s,e:99999@secret@host:2113,b:65536/":       "a port that is not from 1 to 65535",
		"esdb://me:secret@host:99999999999999999999":          "a port that is not from 1 to 65535",
		"esdb://me:secret@host?maxDiscoverAttempts=3":         "maxDiscoverAttempts, which has no effect",
		"esdb://me:secret@host?DISCOVERYINTERVAL=100":         "DISCOVERYINTERVAL, which has no effect",
		"esdb+discover://me:secret@host/path?tls=false&tls=x": "the user or the host in the URL of the log cannot be parsed",
	} {
		_, err := openURL(t, url)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) || strings.Contains(fault.Detail(err), "secret") {
			t.Errorf("Open(%s): got error %v, want %q", url, err, want)
		}
	}
}

// If the TLS setting in the URL does not match the server, Open says so. The client
// alone would only report a timeout.
func TestWrongTLSSettingIsReported(t *testing.T) {
	_, config := certificate(t)
	secret := esdbtest.StartWith(t, memory.New(), esdbtest.Options{TLS: config})
	plain := esdbtest.Start(t, memory.New())
	for url, want := range map[string]string{
		"esdb://" + secret.Address() + "?tls=false":          secret.Address() + " uses TLS: write tls=true",
		"esdb+discover://" + secret.Address() + "?tls=false": secret.Address() + " uses TLS: write tls=true",
		"esdb://" + plain.Address() + "?":                    plain.Address() + " does not use it: write tls=false",
		"esdb://" + plain.Address() + "?tls=true":            plain.Address() + " does not use it: write tls=false",
	} {
		if _, err := openURL(t, url+"&defaultDeadline=200"); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s): got error %v, want %q", url, err, want)
		}
	}
}

func TestKnows(t *testing.T) {
	for url, want := range map[string]bool{
		"esdb://host": true, "esdb+discover://host": true, "kurrentdb://host": true, "kurrentdb+discover://host": true,
		"": false, "esdb": false, "esdb:host": false, "sqlite:///esdb://x": false, "postgres://host": false,
	} {
		if got := eventstoredb.Knows(url); got != want {
			t.Errorf("Knows(%q): got %t, want %t", url, got, want)
		}
	}
}

func TestOverlapComparesPrefixes(t *testing.T) {
	for _, c := range []struct {
		one, other string
		want       bool
	}{
		{"esdb://a:2113", "esdb://a:2113?prefix=p-", true},
		{"esdb://a", "kurrentdb://user:word@A:2113?tls=false&prefix=p-", true},
		{"esdb://a,b,c?prefix=p-", "esdb+discover://c?prefix=p-q-", true},
		{"esdb://a", "esdb://a", true},
		{"esdb://a?prefix=p-", "esdb://a?prefix=q-", false},
		{"esdb://a", "esdb://b?prefix=p-", false},
		{"esdb://a", "esdb://a:2114?prefix=p-", false},
		{"esdb://a", "esdb://a?prefix=$p", false},
	} {
		if eventstoredb.Overlap(c.one, c.other) != c.want || eventstoredb.Overlap(c.other, c.one) != c.want {
			t.Errorf("Overlap(%q, %q) in both orders: want %t", c.one, c.other, c.want)
		}
	}
}

// certificate creates a self-signed certificate for 127.0.0.1. It returns the path of
// the CA file for clients, and the TLS settings for a server.
func certificate(t *testing.T) (authority string, config *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	authority = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return authority, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}
