package maintain

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"annals/cmd/annals/engine"
	"annals/events"
)

// Events prints the events of the log in order, one per line.
type Events struct {
	engine.URLs
	Stream string          // print only the events of this stream; "" for all streams
	From   events.Position // position of the first event to print
	Follow bool            // continue with new events until the context of Run ends
	JSON   bool            // print each event as a JSON object, as it is stored

	Out io.Writer
	out *bufio.Writer
}

// Run prints the events.
func (p *Events) Run(ctx context.Context) error {
	driver, err := engine.OpenLog(ctx, engine.LogFlag, p.Log, p.Data, engine.MustExist)
	if err != nil {
		return err
	}
	log := events.NewLog(driver)
	p.out = bufio.NewWriter(p.Out)
	return errors.Join(p.print(ctx, log), p.out.Flush(), log.Close())
}

func (p *Events) print(ctx context.Context, log *events.Log) error {
	after := max(p.From-1, 0)
	for {
		const page = 500
		records, through, err := log.Records(ctx, after, page)
		if err != nil {
			return err
		}
		for _, r := range records {
			if p.Stream != "" && r.Stream != p.Stream {
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
		if !p.Follow {
			return nil
		}
		if err := p.out.Flush(); err != nil {
			return err
		}
		if err := log.Wait(ctx, after); err != nil {
			if errors.Is(err, context.Canceled) {
				return nil // with Follow, an interrupt is the normal end
			}
			return err
		}
	}
}

func (p *Events) record(r events.Record) error {
	if p.JSON {
		b, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode event %d of %s: %w", r.Revision, r.Stream, err)
		}
		_, err = p.out.Write(append(b, '\n'))
		return err
	}
	var meta events.Metadata
	if err := json.Unmarshal(r.Metadata, &meta); err != nil {
		return fmt.Errorf("decode the metadata of event %d of %s: %w", r.Revision, r.Stream, err)
	}
	const maxShown = 160
	data := string(r.Data)
	if runes := []rune(data); len(runes) > maxShown {
		data = string(runes[:maxShown]) + "…"
	}
	_, err := fmt.Fprintf(p.out, "%d %s %s@%d %s %s %s\n", r.Position, meta.Time.Format("2006-01-02T15:04:05.000Z"), r.Stream, r.Revision, r.Type, cmp.Or(meta.Actor, "-"), data)
	return err
}
