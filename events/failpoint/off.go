//go:build !failpoint

package failpoint

// Enabled reports whether this build has failpoints.
const Enabled = false

// Here marks a failpoint. In this build it does nothing.
func Here(Point) {}
