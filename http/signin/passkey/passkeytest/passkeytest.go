// Package passkeytest creates passkeys for tests.
package passkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"testing"

	"github.com/descope/virtualwebauthn"
)

// NewCredential returns a passkey of a virtual device. It skips keys with a coordinate that
// begins with a zero byte (one key in 128): package virtualwebauthn omits that byte, so
// servers would refuse the key.
func NewCredential(t testing.TB) virtualwebauthn.Credential {
	t.Helper()
	for {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		point, err := key.PublicKey.Bytes() // the byte 4, then the coordinates X and Y
		if err != nil {
			t.Fatal(err)
		}
		if point[1] == 0 || point[33] == 0 {
			continue
		}
		encoded, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return virtualwebauthn.NewCredentialWithImportedKey(virtualwebauthn.KeyTypeEC2, encoded)
	}
}
