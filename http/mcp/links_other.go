//go:build !unix

package mcp

import "io/fs"

// links returns the number of a file's hard links, 1 if unknown.
func links(fs.FileInfo) uint64 { return 1 }
