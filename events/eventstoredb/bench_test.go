package eventstoredb_test

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"annals/events"
	"annals/events/eventstoredb"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
)

// pair contains the best times of the driver (ours) and of the official client
// (yardstick), measured alternately. The best time counts, because other load on the
// machine only makes a run slower.
type pair struct{ ours, yardstick time.Duration }

func (p *pair) add(ours, yardstick func()) {
	for to, f := range map[*time.Duration]func(){&p.ours: ours, &p.yardstick: yardstick} {
		start := time.Now()
		f()
		if took := time.Since(start); *to == 0 || took < *to {
			*to = took
		}
	}
}

func (p *pair) report(b *testing.B, n int) {
	b.ReportMetric(p.yardstick.Seconds()/p.ours.Seconds(), "ratio")
	b.ReportMetric(float64(n)/p.ours.Seconds(), "events/s")
}

// both opens the driver and the official client on one server.
func both(b *testing.B, log events.Driver) (*eventstoredb.Driver, *esdb.Client) {
	b.Helper()
	url := esdbtest.Start(b, log).URL()
	config, err := esdb.ParseConnectionString(url)
	if err != nil {
		b.Fatal(err)
	}
	config.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { client.Close() })
	return open(b, url), client
}

// BenchmarkRead compares the driver, which reads in pages, with the official client,
// which reads all events in one call.
func BenchmarkRead(b *testing.B) {
	const n, page = 3000, 1000
	log := memory.New()
	for i := range n / 100 {
		batch := records(100)
		for j := range batch {
			batch[j].Data = fmt.Appendf(nil, `{"text":"%0400d"}`, j)
		}
		if _, err := log.Append(b.Context(), "a", int64(i*100-1), batch); err != nil {
			b.Fatal(err)
		}
	}
	d, client := both(b, log)
	drain := func(stream *esdb.ReadStream, err error) {
		for i := 0; err == nil; i++ {
			if _, err = stream.Recv(); errors.Is(err, io.EOF) && i == n {
				return
			}
		}
		b.Error(err)
	}
	b.Run("all", func(b *testing.B) {
		var p pair
		for b.Loop() {
			p.add(func() {
				got := 0
				for after := events.Position(0); ; {
					batch, through, err := d.ReadAll(b.Context(), after, page, nil)
					if got += len(batch); err != nil || through == after {
						if err != nil || got != n {
							b.Errorf("ReadAll: got %d events, %v, want %d", got, err, n)
						}
						return
					}
					after = through
				}
			}, func() { drain(client.ReadAll(b.Context(), esdb.ReadAllOptions{}, n)) })
		}
		p.report(b, n)
	})
	b.Run("stream", func(b *testing.B) {
		var p pair
		for b.Loop() {
			p.add(func() {
				for from := int64(0); from < n; {
					batch, err := d.ReadStream(b.Context(), "a", from, page)
					if err != nil || len(batch) == 0 {
						b.Errorf("ReadStream from %d: got %d events, %v", from, len(batch), err)
						return
					}
					from += int64(len(batch))
				}
			}, func() { drain(client.ReadStream(b.Context(), "a", esdb.ReadStreamOptions{}, n)) })
		}
		p.report(b, n)
	})
}

// BenchmarkAppend compares appends through the driver with appends through the official
// client. Concurrent writers append events one by one.
func BenchmarkAppend(b *testing.B) {
	const writers, each = 8, 40
	d, client := both(b, memory.New())
	write := func(put func(stream string, expected int64, r events.Record) error) {
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				stream := uuid.NewString()
				for i, r := range records(each) {
					if err := put(stream, int64(i-1), r); err != nil {
						b.Errorf("append %d: %v", i, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	b.Run("8 writers", func(b *testing.B) {
		var p pair
		for b.Loop() {
			p.add(func() {
				write(func(stream string, expected int64, r events.Record) error {
					_, err := d.Append(b.Context(), stream, expected, []events.Record{r})
					return err
				})
			}, func() {
				write(func(stream string, expected int64, r events.Record) error {
					o := esdb.AppendToStreamOptions{ExpectedRevision: esdb.NoStream{}}
					if expected >= 0 {
						o.ExpectedRevision = esdb.Revision(uint64(expected))
					}
					_, err := client.AppendToStream(b.Context(), stream, o, esdb.EventData{
						EventID: r.ID, EventType: r.Type, ContentType: esdb.ContentTypeJson, Data: r.Data, Metadata: r.Metadata,
					})
					return err
				})
			})
		}
		p.report(b, writers*each)
	})
}
