//go:build !linux

package ocr

import "syscall"

// dieWithParent does nothing on this system.
func dieWithParent() *syscall.SysProcAttr { return nil }
