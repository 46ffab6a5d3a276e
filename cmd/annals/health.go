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

	"annals/commands/importer/extract"

	"github.com/spf13/cobra"
)

// healthConfig is what health can be told.
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
		Short: "Ask the server on this machine whether it answers",
		Long: "Ask the server that listens on this machine whether it answers; the exit status is 0 if so. It is for containers\n" +
			"and service managers, and reads --listen where serve does.",
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
	flags.BoolVar(&c.ready, "ready", false, "ask whether reads can be answered too, as a load balancer does")
	flags.BoolVar(&c.reader, "readers", false, "ask no server: start a reader of files, and print what its sandbox is made of on this machine")
	flags.DurationVar(&c.within, "within", 5*time.Second, "time for the answer")
	markByFlagAlone(flags, "ready", "readers", "within")
	return command
}

// inspect prints what holds in a reader, and is an error if something lacks.
func (c *healthConfig) inspect(ctx context.Context, out io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, to start a reader: %w", err)
	}
	reader := extract.New(extract.Options{Command: []string{program, readerName}})
	defer reader.Close()
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	report, err := extract.Inspect(ctx, reader)
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

// ask prints what the server says, and is an error unless that is 200.
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
		return fmt.Errorf("%s answers %s, not as a server of Annals: %w", request.URL, reply.Status, err)
	}
	if reply.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSuffix(reply.Status+": "+state.Detail, ": "))
	}
	_, err = fmt.Fprintln(out, state.Status)
	return err
}
