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

// ForgetTokens empties the cache of verified tokens.
func (v *Verifier) ForgetTokens() { v.cache = newTokenCache(1) }
