package signin

// Internals for the tests of this package.
var (
	Algorithms = algorithms
	PublicKeys = publicKeys
)

const (
	FetchPause = fetchPause
	KeysFresh  = keysFresh
	KeysUsable = keysUsable
	MaxAnswer  = maxAnswer
	MaxKeys    = maxKeys
	Recheck    = recheckAfter
)

// ForgetTokens has the next call check the signature again.
func (v *Verifier) ForgetTokens() { v.cache = newTokenCache(1) }
