package esdbtest_test

import (
	"errors"
	"io"
	"testing"

	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
)

// client returns an official client. The tests use it to check that the test server
// follows the protocol.
func client(t *testing.T, url string) *esdb.Client {
	t.Helper()
	config, err := esdb.ParseConnectionString(url)
	if err != nil {
		t.Fatal(err)
	}
	config.Logger = esdb.NoopLogging()
	c, err := esdb.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func put(t *testing.T, c *esdb.Client, stream string, expected esdb.ExpectedRevision, types ...string) *esdb.WriteResult {
	t.Helper()
	var data []esdb.EventData
	for _, name := range types {
		data = append(data, esdb.EventData{EventID: uuid.New(), EventType: name, ContentType: esdb.ContentTypeJson, Data: []byte(`{}`), Metadata: []byte(`{"m":1}`)})
	}
	made, err := c.AppendToStream(t.Context(), stream, esdb.AppendToStreamOptions{ExpectedRevision: expected}, data...)
	if err != nil {
		t.Fatalf("AppendToStream(%s): %v", stream, err)
	}
	return made
}

// types returns the types of the events of a read, in order.
func types(t *testing.T, stream *esdb.ReadStream, err error) (got string) {
	t.Helper()
	for err == nil {
		var e *esdb.ResolvedEvent
		if e, err = stream.Recv(); err == nil {
			got += e.Event.EventType
		}
	}
	if stream != nil {
		stream.Close()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatalf("Recv: %v", err)
	}
	return got
}

func TestOfficialClient(t *testing.T) {
	log := memory.New()
	a, b := esdbtest.Start(t, log), esdbtest.Start(t, log)
	esdbtest.Cluster(a, b)
	c := client(t, "esdb://"+a.Address()+","+b.Address()+"?tls=false")
	ctx := t.Context()

	made := put(t, c, "one", esdb.NoStream{}, "A", "B", "C")
	if head, err := log.Head(ctx); err != nil || made.NextExpectedVersion != 2 || made.CommitPosition != uint64(head) {
		t.Errorf("AppendToStream of three events: got %+v, want revision 2 at position %d (%v)", made, head, err)
	}
	put(t, c, "two", esdb.Any{}, "D")
	put(t, c, "one", esdb.Revision(2), "E")
	_, err := c.AppendToStream(ctx, "one", esdb.AppendToStreamOptions{ExpectedRevision: esdb.NoStream{}}, esdb.EventData{EventID: uuid.New(), EventType: "F"})
	if e := (*esdb.Error)(nil); !errors.As(err, &e) || e.Code() != esdb.ErrorCodeWrongExpectedVersion {
		t.Errorf("AppendToStream at a wrong revision: got error %v", err)
	}

	read, err := c.ReadStream(ctx, "one", esdb.ReadStreamOptions{From: esdb.Revision(1)}, 10)
	if got := types(t, read, err); got != "BCE" {
		t.Errorf("ReadStream from revision 1: got %s, want BCE", got)
	}
	read, err = c.ReadStream(ctx, "one", esdb.ReadStreamOptions{From: esdb.End{}, Direction: esdb.Backwards}, 3)
	if got := types(t, read, err); got != "ECB" {
		t.Errorf("ReadStream backwards: got %s, want ECB", got)
	}
	read, err = c.ReadAll(ctx, esdb.ReadAllOptions{From: esdb.Position{Commit: made.CommitPosition, Prepare: made.PreparePosition}}, 10)
	if got := types(t, read, err); got != "CDE" {
		t.Errorf("ReadAll from the third event: got %s, want CDE", got)
	}
	read, err = c.ReadStream(ctx, "none", esdb.ReadStreamOptions{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = read.Recv()
	if e := (*esdb.Error)(nil); !errors.As(err, &e) || e.Code() != esdb.ErrorCodeResourceNotFound {
		t.Errorf("Recv from a missing stream: got error %v, want ErrorCodeResourceNotFound", err)
	}
}

// Like the real server, the test server ignores an append at any revision of events that
// the stream already has. The driver has to avoid such appends.
func TestAppendOfKnownEventsAddsNothing(t *testing.T) {
	log := memory.New()
	c := client(t, esdbtest.Start(t, log).URL())
	event := esdb.EventData{EventID: uuid.New(), EventType: "A"}
	for range 2 {
		if _, err := c.AppendToStream(t.Context(), "one", esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, event); err != nil {
			t.Fatal(err)
		}
	}
	if held, err := log.ReadStream(t.Context(), "one", 0, 10); err != nil || len(held) != 1 {
		t.Errorf("ReadStream after a repeated append: got %d events, %v, want 1", len(held), err)
	}
}

func TestOfficialClientSubscribes(t *testing.T) {
	log := memory.New()
	server := esdbtest.Start(t, log)
	c := client(t, server.URL())
	put(t, c, "ours-1", esdb.NoStream{}, "A")
	put(t, c, "theirs-1", esdb.NoStream{}, "B", "B", "B")
	s, err := c.SubscribeToAll(t.Context(), esdb.SubscribeToAllOptions{
		From: esdb.Start{}, MaxSearchWindow: 2, CheckpointInterval: 1,
		Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"ours-"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := ""
	for {
		e := s.Recv()
		switch {
		case e.EventAppeared != nil:
			got += e.EventAppeared.Event.EventType
		case e.CheckPointReached != nil:
			got += "."
		case e.CaughtUp != nil:
			got += "!"
			put(t, c, "ours-1", esdb.Revision(0), "C")
		}
		if e.SubscriptionDropped != nil {
			break
		}
		if got == "A.!C" {
			server.Drop()
		}
	}
	if got != "A.!C" {
		t.Errorf("subscription: got %s, want A.!C: A, a checkpoint, caught up, C", got)
	}
	if s, err := c.SubscribeToStream(t.Context(), "ours-1", esdb.SubscribeToStreamOptions{From: esdb.Revision(0)}); err != nil {
		t.Errorf("SubscribeToStream: %v", err)
	} else if e := s.Recv().EventAppeared; e == nil || e.Event.EventType != "C" {
		t.Errorf("SubscribeToStream after revision 0: got %v, want C", e)
	}
	if server.Calls(esdbtest.Subscribe) != 2 {
		t.Errorf("Calls(Subscribe): got %d, want 2", server.Calls(esdbtest.Subscribe))
	}
}
