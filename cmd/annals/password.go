package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"annals/events/fault"
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
