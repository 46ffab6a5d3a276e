package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"annals/events/fault"
	"annals/http/signin"
)

// readPassword asks twice without echo on a terminal, and reads one line
// otherwise.
func readPassword(cmd *cobra.Command) (string, error) {
	if f, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return askPassword(cmd.Context(), f, cmd.ErrOrStderr())
	}
	line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password from standard input: %w", err)
	}
	password := strings.TrimRight(line, "\r\n")
	if password == "" {
		return "", fault.Errorf(fault.Invalid, "there is no password on standard input")
	}
	return password, nil
}

// askAdminPassword returns what reads --admin-password-file, or nil without it.
func (c *serveConfig) askAdminPassword() func() (string, error) {
	if c.adminPasswordFile == "" {
		return nil
	}
	return func() (string, error) {
		password, err := readPasswordFile(c.adminPasswordFile)
		if err == nil {
			err = signin.ValidPassword(password)
		}
		if err != nil {
			return "", fmt.Errorf("--admin-password-file: %w", err)
		}
		return password, nil
	}
}

// checkAdminPassword returns an error if the user admin is still to be created
// and --admin-password-file gives no password for it.
func (c *serveConfig) checkAdminPassword(ctx context.Context, accounts *signin.Accounts) error {
	ask := c.askAdminPassword()
	if ask == nil {
		return nil
	}
	if exist, err := accounts.Exist(ctx); exist || err != nil {
		return err
	}
	_, err := ask()
	return err
}

// readPasswordFile returns the first line of a file that others may not read.
func readPasswordFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return "", fault.Errorf(fault.Invalid, "%s is no file", path)
	case runtime.GOOS != "windows" && mode.Perm()&0o077 != 0:
		return "", fault.Errorf(fault.Invalid, "others than its owner have access to %s (mode %04o): chmod 600 %[1]s", path, mode.Perm())
	}
	line, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	password := strings.TrimRight(line, "\r\n")
	if password == "" {
		return "", fault.Errorf(fault.Invalid, "the first line of %s is empty", path)
	}
	return password, nil
}

func askPassword(ctx context.Context, terminal *os.File, prompts io.Writer) (string, error) {
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Again: "} {
		fmt.Fprint(prompts, prompt)
		text, err := readHidden(ctx, terminal)
		fmt.Fprintln(prompts)
		if err != nil {
			return "", fmt.Errorf("read the password from the terminal: %w", err)
		}
		typed[i] = text
	}
	if typed[0] != typed[1] {
		return "", fault.Errorf(fault.Invalid, "the two passwords differ")
	}
	return typed[0], nil
}

// readHidden reads a line without echo. An interrupt cannot end the read of a
// terminal, so that is left behind for the program's end; what matters is that
// the terminal echoes again.
func readHidden(ctx context.Context, terminal *os.File) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return string(l.text), l.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(fd, before))
	}
}
