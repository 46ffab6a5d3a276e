package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"annals/events"

	"github.com/spf13/cobra"
)

// eventsCommand prints the log as it is stored.
func eventsCommand(dataDir func() string) *cobra.Command {
	var p printer
	var logURL string
	var from int64
	command := &cobra.Command{
		Use:   "events",
		Short: "Print the events of the log",
		Long: "Print the events of the log in their order, a line each, as they are stored. It works beside a running\n" +
			"server.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from < 0 {
				return errors.New("--from must be a position, from 0")
			}
			driver, err := openLog(cmd.Context(), logFlag, logURL, dataDir(), mustExist)
			if err != nil {
				return err
			}
			log := events.NewLog(driver)
			p.out = bufio.NewWriter(cmd.OutOrStdout())
			return errors.Join(p.print(cmd.Context(), log, events.Position(from)), p.out.Flush(), log.Close())
		},
	}
	flags := command.Flags()
	flags.StringVar(&logURL, "log", "", logHelp)
	flags.StringVar(&p.stream, "stream", "", "print the events of this stream only")
	flags.Int64Var(&from, "from", 0, "print from this position on")
	flags.BoolVar(&p.follow, "follow", false, "go on with new events as they happen, until interrupted")
	flags.BoolVar(&p.json, "json", false, "print one JSON object a line: position id stream revision type data metadata")
	return command
}

type printer struct {
	out    *bufio.Writer
	stream string
	follow bool
	json   bool
}

// print writes the events from a position on.
func (p *printer) print(ctx context.Context, log *events.Log, from events.Position) error {
	after := max(from-1, 0)
	for {
		const page = 500
		records, through, err := log.Records(ctx, after, page)
		if err != nil {
			return err
		}
		for _, r := range records {
			if p.stream != "" && r.Stream != p.stream {
				continue
			}
			if err := p.record(r); err != nil {
				return err
			}
		}
		if through > after {
			after = through
			continue
		}
		if !p.follow {
			return nil
		}
		if err := p.out.Flush(); err != nil {
			return err
		}
		if err := log.Wait(ctx, after); err != nil {
			if errors.Is(err, context.Canceled) {
				return nil // an interrupt is how following ends
			}
			return err
		}
	}
}

func (p *printer) record(r events.Record) error {
	if p.json {
		b, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("event %d of %s: %w", r.Revision, r.Stream, err)
		}
		_, err = p.out.Write(append(b, '\n'))
		return err
	}
	var meta events.Metadata
	if err := json.Unmarshal(r.Metadata, &meta); err != nil {
		return fmt.Errorf("metadata of event %d of %s: %w", r.Revision, r.Stream, err)
	}
	const most = 160
	data := string(r.Data)
	if runes := []rune(data); len(runes) > most {
		data = string(runes[:most]) + "…"
	}
	_, err := fmt.Fprintf(p.out, "%d %s %s@%d %s %s %s\n", r.Position, meta.Time.Format("2006-01-02T15:04:05.000Z"), r.Stream, r.Revision, r.Type, orDash(string(meta.Actor)), data)
	return err
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
