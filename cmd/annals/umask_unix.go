//go:build unix

package main

import "syscall"

// init makes all new files accessible only to the user who runs the program, because the
// log and the read models contain every text.
func init() { syscall.Umask(0o077) }
