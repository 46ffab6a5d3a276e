package signin

// The well-known addresses of metadata (RFC 8615). The path of what they describe is appended.
const (
	WellKnown         = "/.well-known/"
	ProtectedResource = "oauth-protected-resource"
)
