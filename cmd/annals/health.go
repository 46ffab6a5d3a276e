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
				err := service.InspectReaders(ctx, cmd.OutOrStdout(), readerName, c.tesseract)
				c.recognition(ctx, cmd.OutOrStdout())
				return err
			}
			return c.check(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.listen, "listen", defaultListen, "address that serve listens on")
	flags.BoolVar(&c.ready, "ready", false, "check /readyz instead of /healthz: also fail if the server cannot serve reads yet, or is shutting down")
	flags.BoolVar(&c.reader, "readers", false, "start a process that reads files, print the measures that confine it on this machine, and fail if one is missing; also say whether this command, and the server that runs, can read scanned pages")
	bindTesseract(flags, &c.tesseract)
	flags.DurationVar(&c.within, "within", 5*time.Second, "timeout of the check")
	settings.FlagOnly(flags, "ready", "readers", "within")
	return command
}

// recognition prints whether the server reads scanned pages, which may differ from what this command
// finds: the server may have another configuration, or may have started before Tesseract was installed.
func (c *healthConfig) recognition(ctx context.Context, out io.Writer) {
	state, reply, err := c.get(ctx, "/readyz")
	switch {
	case err != nil:
		fmt.Fprintln(out, "no server was asked whether it reads scanned pages, because none responds:", err)
	case state.ScansUnread == nil:
		fmt.Fprintf(out, "what listens at %s does not say whether it reads scanned pages: it responds %s to /readyz, and may be an older version of Annals or another program\n", c.listen, reply.Status)
	case *state.ScansUnread != "":
		fmt.Fprintln(out, "the running server does not read scanned pages:", *state.ScansUnread)
	default:
		fmt.Fprintln(out, "the running server reads scanned pages")
	}
}

// serverState is the part of the server's replies that is printed.
type serverState struct {
	Status, Detail string
	ScansUnread    *string `json:"scans_unread"` // nil if the server does not say
}

// check prints the status of the server. If the status of the reply is not 200, it
// returns an error.
func (c *healthConfig) check(ctx context.Context, out io.Writer) error {
	path := "/healthz"
	if c.ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	state, reply, err := c.get(ctx, path)
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSuffix(reply.Status+": "+state.Detail, ": "))
	}
	_, err = fmt.Fprintln(out, state.Status)
	return err
}

// get gets a path of the server. The body of the reply is closed.
func (c *healthConfig) get(ctx context.Context, path string) (state serverState, reply *http.Response, err error) {
	host, port, err := net.SplitHostPort(c.listen)
	if err != nil {
		return state, nil, fmt.Errorf("--listen %s: %w", c.listen, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return state, nil, err
	}
	reply, err = http.DefaultClient.Do(request)
	if err != nil {
		return state, nil, fmt.Errorf("the server does not respond: %w", err)
	}
	defer reply.Body.Close()
	if err := json.NewDecoder(io.LimitReader(reply.Body, 1<<20)).Decode(&state); err != nil {
		return state, nil, fmt.Errorf("%s is not an Annals server: it responds %s without the expected JSON: %w; check --listen", request.URL, reply.Status, err)
	}
	return state, reply, nil
}
