package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"annals/cmd/annals/service"
	"annals/cmd/annals/settings"

	"github.com/spf13/cobra"
)

// healthConfig holds the flags of health.
type healthConfig struct {
	listen    string
	tesseract string
	ready     bool
	reader    bool
	within    time.Duration
}

func healthCommand() *cobra.Command {
	var c healthConfig
	command := &cobra.Command{
		Use:   "health",
		Short: "Check that the server on this machine responds",
		Long: "Check that the server on this machine responds; the exit status is 0 if it does. Containers and service managers\n" +
			"can use it as their health check. The address is the setting listen of serve.",
		Args: settings.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.reader {
				ctx, cancel := context.WithTimeout(cmd.Context(), c.within)
				defer cancel()
				return service.InspectReaders(ctx, cmd.OutOrStdout(), readerName, c.tesseract)
			}
			return c.check(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.listen, "listen", defaultListen, "address that serve listens on")
	flags.BoolVar(&c.ready, "ready", false, "check /readyz instead of /healthz: also fail if the server cannot serve reads yet, or is shutting down")
	flags.BoolVar(&c.reader, "readers", false, "instead of calling a server, start a process that reads files, print the measures that confine it on this machine, and fail if one is missing")
	bindTesseract(flags, &c.tesseract)
	flags.DurationVar(&c.within, "within", 5*time.Second, "timeout of the check")
	settings.FlagOnly(flags, "ready", "readers", "within")
	return command
}

// check prints the status of the server. If the status of the reply is not 200, it
// returns an error.
func (c *healthConfig) check(ctx context.Context, out io.Writer) error {
	host, port, err := net.SplitHostPort(c.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", c.listen, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	path := "/healthz"
	if c.ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("the server does not respond: %w", err)
	}
	defer reply.Body.Close()
	var state struct{ Status, Detail string }
	if err := json.NewDecoder(io.LimitReader(reply.Body, 1<<20)).Decode(&state); err != nil {
		return fmt.Errorf("%s is not an Annals server: it responds %s without the expected JSON: %w; check --listen", request.URL, reply.Status, err)
	}
	if reply.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSuffix(reply.Status+": "+state.Detail, ": "))
	}
	_, err = fmt.Fprintln(out, state.Status)
	return err
}
