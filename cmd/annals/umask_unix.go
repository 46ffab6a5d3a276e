//go:build unix

package main

import "syscall"

// init keeps what the program makes for its user alone: the log and the read
// models hold every text.
func init() { syscall.Umask(0o077) }
