//go:build !unix

package mcp

import "io/fs"

// names returns the number of a file's hard links, 1 if unknown.
func names(fs.FileInfo) uint64 { return 1 }
