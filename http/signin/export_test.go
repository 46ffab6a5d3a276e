package signin

// Internals for the tests of this package.
var (
	Algorithms = algorithms
	PublicKeys = publicKeys
)

const (
	FetchPause  = fetchPause
	KeysFresh   = keysFresh
	KeysUsable  = keysUsable
	MaxKeys     = maxKeys
	MaxResponse = maxResponse
	Recheck     = recheckAfter
)

// ForgetTokens empties the cache, so that the next call verifies the signature again.
func (v *Verifier) ForgetTokens() { v.cache = newTokenCache(1) }
