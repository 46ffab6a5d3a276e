package ocr

import "syscall"

// dieWithParent makes the system kill the program when the process that started it ends.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
