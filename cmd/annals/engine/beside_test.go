package engine

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"
	"annals/projections"
)

func TestOpenNamesUnreachableServer(t *testing.T) {
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // connections are never accepted
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	dir, at := t.TempDir(), silent.Addr().String()
	if d, err := OpenLog(t.Context(), LogFlag, "", dir, MayCreate); err != nil || d.Close() != nil {
		t.Fatal(err)
	}
	plain := esdbtest.Start(t, memory.New()).Address()
	for _, c := range []struct {
		of   Beside
		want string
	}{
		{Beside{URLs: URLs{Log: "esdb://" + plain + "?tls=true"}}, "--log: the URL of the log requires TLS, and " + plain + " does not use it: write tls=false"},
		{Beside{URLs: URLs{Log: "esdb://" + at + "?tls=false"}}, "EventStoreDB, where the log is, did not respond within 100ms"},
		{Beside{URLs: URLs{ReadModels: "postgres://me@" + at + "/db?sslmode=disable"}}, "the database db on " + at + ", where the read models are, did not respond within 100ms"},
	} {
		c.of.Data, c.of.Timeout = dir, 100*time.Millisecond
		if _, err := c.of.Open(t.Context()); err == nil || err.Error() != c.want {
			t.Errorf("open: %v, want %s", err, c.want)
		}
	}
}

// Reading the read models also reads the log. If the log stops responding meanwhile,
// the error names the log, not the database of the read models.
func TestTimeoutNamesLogBehindReadModels(t *testing.T) {
	log := memory.New()
	if _, err := events.NewLog(log).Append(t.Context(), "job-a", events.NoStream, events.Cause{}, events.New{Data: events.FileStarted{}}); err != nil {
		t.Fatal(err)
	}
	server := esdbtest.Start(t, log)
	b := &Beside{URLs: URLs{Data: t.TempDir(), Log: server.URL()}, Timeout: time.Minute}
	closeAll, err := b.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	server.Fail(esdbtest.Fault{On: esdbtest.Read, Hang: true})
	b.Timeout = 100 * time.Millisecond
	const want = "EventStoreDB, where the log is, did not respond within 100ms"
	err = withTimeout(t.Context(), b.Timeout, "the database", func(ctx context.Context) error {
		_, err := projections.Age(ctx, b.Options.Log, 0)
		return err
	})
	if err == nil || err.Error() != want {
		t.Errorf("the state of read models: %v, want %s", err, want)
	}
	if _, err := b.Options.Log.Head(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the head of the log: %v, want %s", err, want)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if err := withTimeout(left, time.Minute, "the database", func(ctx context.Context) error { return ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the caller cancelled: %v, want canceled", err)
	}
}
