package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"annals/events/fault"

	"golang.org/x/term"
)

// ReadPassword reads a new password. If in is a terminal, it prompts on messages and
// reads the password twice without echo. Otherwise it reads the first line of in.
func ReadPassword(ctx context.Context, in io.Reader, messages io.Writer) (string, error) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return promptPassword(ctx, f, messages)
	}
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password from standard input: %w", err)
	}
	password := strings.TrimRight(line, "\r\n")
	if password == "" {
		return "", fault.Errorf(fault.Invalid, "the first line of standard input is empty: it must be the password")
	}
	return password, nil
}

func promptPassword(ctx context.Context, terminal *os.File, prompts io.Writer) (string, error) {
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
		return "", fault.Errorf(fault.Invalid, "the two passwords differ: try again")
	}
	return typed[0], nil
}

// readHidden reads a line without echo. If ctx is canceled, it turns the echo on again
// and returns. Its goroutine leaks then, because a read from a terminal cannot be
// interrupted; the program is about to exit anyway.
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
