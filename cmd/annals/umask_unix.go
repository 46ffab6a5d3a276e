//go:build unix

package main

import "syscall"

// init makes all files of the program accessible to its user only, because the log and
// the read models contain every text.
func init() { syscall.Umask(0o077) }
