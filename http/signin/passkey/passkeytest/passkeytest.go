// Package passkeytest makes passkeys for tests.
package passkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"testing"

	"github.com/descope/virtualwebauthn"
)

// NewCredential returns a passkey of a virtual device. The library drops leading zeros of a
// coordinate, which happens for one key in 128 and which no server accepts, so such keys are
// made again.
func NewCredential(t testing.TB) virtualwebauthn.Credential {
	t.Helper()
	for {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		point, err := key.PublicKey.Bytes() // 4, X, Y
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
