package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"annals/cmd/annals/settings"
	"annals/commands/importer/extract/reader"

	"github.com/spf13/cobra"
)

// healthConfig holds the flags of health.
type healthConfig struct {
	listen string
	ready  bool
	reader bool
	within time.Duration
}

func healthCommand() *cobra.Command {
	var c healthConfig
	command := &cobra.Command{
		Use:   "health",
		Short: "Check that the server on this machine answers",
		Long: "Check that the server on this machine answers; the exit status is 0 if it does. For containers and service\n" +
			"managers. --listen is read from the same settings as that of serve.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.reader {
				return c.inspect(cmd.Context(), cmd.OutOrStdout())
			}
			return c.ask(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.listen, "listen", defaultListen, "address that serve listens on")
	flags.BoolVar(&c.ready, "ready", false, "also check that the server can serve reads (/readyz), like a load balancer")
	flags.BoolVar(&c.reader, "readers", false, "start a process that reads files instead of calling a server, and print which measures confine it on this machine")
	flags.DurationVar(&c.within, "within", 5*time.Second, "maximum time to wait for the response")
	settings.FlagOnly(flags, "ready", "readers", "within")
	return command
}

// inspect prints the measures that confine a reader. It returns an error if one is missing.
func (c *healthConfig) inspect(ctx context.Context, out io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, to start a reader: %w", err)
	}
	files := reader.New(reader.Options{Command: []string{program, readerName}})
	defer files.Close()
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	report, err := reader.Inspect(ctx, files)
	if err != nil {
		return err
	}
	for _, measure := range report.Holds {
		fmt.Fprintln(out, "holds:", measure)
	}
	if len(report.Lacks) > 0 {
		return fmt.Errorf("readers lack %s", strings.Join(report.Lacks, ", "))
	}
	return nil
}

// ask prints the status of the server. Any status other than 200 is an error.
func (c *healthConfig) ask(ctx context.Context, out io.Writer) error {
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
		return fmt.Errorf("the server does not answer: %w", err)
	}
	defer reply.Body.Close()
	var state struct{ Status, Detail string }
	if err := json.NewDecoder(io.LimitReader(reply.Body, 1<<20)).Decode(&state); err != nil {
		return fmt.Errorf("%s responds %s, but not like an Annals server: %w; check --listen", request.URL, reply.Status, err)
	}
	if reply.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSuffix(reply.Status+": "+state.Detail, ": "))
	}
	_, err = fmt.Fprintln(out, state.Status)
	return err
}
