//go:build !unix

package mcp

import "io/fs"

// links returns 1, because the number of hard links of a file is unknown on this platform.
func links(fs.FileInfo) uint64 { return 1 }
