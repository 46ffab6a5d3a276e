//go:build !unix

package mcp

import "io/fs"

// names returns how many names a file has, as far as that is known.
func names(fs.FileInfo) uint64 { return 1 }
