package eventstoredb_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/events"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
)

// records returns n new records.
func records(n int) []events.Record {
	all := make([]events.Record, n)
	for i := range all {
		all[i] = events.Record{ID: uuid.New(), Type: "Happened", Data: []byte(`{}`), Metadata: []byte(`{"schema":1}`)}
	}
	return all
}

func appendTo(t *testing.T, d events.Driver, stream string, expected int64, n int) events.Appended {
	t.Helper()
	made, err := d.Append(t.Context(), stream, expected, records(n))
	if err != nil {
		t.Fatalf("Append(%s, %d): %v", stream, expected, err)
	}
	return made
}

// wantLength checks the number of events in a log.
func wantLength(t *testing.T, d events.Driver, n int) {
	t.Helper()
	all, _, err := d.ReadAll(t.Context(), 0, 1000, nil)
	if err != nil || len(all) != n {
		t.Errorf("ReadAll: got %d events, %v, want %d", len(all), err, n)
	}
}

func TestAppendSurvivesLostReply(t *testing.T) {
	log := memory.New()
	server := esdbtest.Start(t, log)
	d := open(t, server.URL())
	for i, expected := range []int64{events.NoStream, 1, events.AnyRevision} {
		server.Fail(esdbtest.Fault{On: esdbtest.Append, Times: 1, LoseReply: true, Code: codes.Unavailable})
		if made := appendTo(t, d, "a", expected, 2); made.Revision != int64(2*i+1) {
			t.Errorf("append at %d: got revision %d, want %d", expected, made.Revision, 2*i+1)
		}
	}
	wantLength(t, log, 6)
}

func TestTransientErrorsAreRetried(t *testing.T) {
	for name, f := range map[string]esdbtest.Fault{
		"the server is not ready":     {Times: 3, Code: codes.Unavailable},
		"a write times out":           {Times: 2, Code: codes.DeadlineExceeded},
		"a leader is being elected":   {Times: 2, Code: codes.Unknown, Text: "No leader info available in response"},
		"the server aborts":           {Times: 2, Code: codes.Aborted},
		"the server is slow":          {Times: 2, Delay: 100 * time.Millisecond},
		"a response is interrupted":   {Times: 1, After: 2, Code: codes.Unavailable},
		"the server does not respond": {Times: 1, Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := esdbtest.Start(t, memory.New())
			d := open(t, server.URL()+"&defaultDeadline=500")
			f.On = esdbtest.Append
			server.Fail(f)
			appendTo(t, d, "a", events.NoStream, 5)
			f.On = esdbtest.Read
			server.Fail(f)
			wantLength(t, d, 5)
			if batch, err := d.ReadStream(t.Context(), "a", 0, 10); err != nil || len(batch) != 5 {
				t.Errorf("ReadStream: got %d events, %v, want 5", len(batch), err)
			}
		})
	}
}

func TestLongOutageIsUnavailable(t *testing.T) {
	server := esdbtest.Start(t, memory.New())
	d := open(t, server.URL()+"&defaultDeadline=300")
	appendTo(t, d, "a", events.NoStream, 1)
	server.Stop()
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			_, err := d.Append(t.Context(), "a", 0, records(1))
			if !fault.Is(err, fault.Unavailable) || err.Error() != "the log does not respond at the moment" {
				t.Errorf("Append without a server: got error %v, want kind Unavailable", err)
			}
			if _, _, err := d.ReadAll(t.Context(), 0, 10, nil); !fault.Is(err, fault.Unavailable) {
				t.Errorf("ReadAll without a server: got error %v, want kind Unavailable", err)
			}
		})
	}
	calls.Wait()
	server.Restart(t)
	appendTo(t, d, "a", 0, 1)
	wantLength(t, d, 2)
}

func TestCallEndsWithContext(t *testing.T) {
	server := esdbtest.Start(t, memory.New())
	d := open(t, server.URL())
	for _, m := range []esdbtest.Method{esdbtest.Append, esdbtest.Read} {
		server.Fail(esdbtest.Fault{On: m, Hang: true})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := d.Append(ctx, "a", events.NoStream, records(1))
	if !fault.Is(err, fault.Canceled) {
		t.Errorf("Append with a context that ends: got error %v, want kind Canceled", err)
	}
	// The connection still works for other calls.
	server.Heal()
	appendTo(t, d, "a", events.NoStream, 1)
	server.Fail(esdbtest.Fault{On: esdbtest.Read, Hang: true})
	done := make(chan error)
	go func() {
		_, err := d.Head(t.Context())
		done <- err
	}()
	if err := d.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-done; !fault.Is(err, fault.Unavailable) {
		t.Errorf("Head interrupted by Close: got error %v, want kind Unavailable", err)
	}
}

// Head returns after the first event of the response and does not wait for the end of
// the response: the server first searches for another event, which may take long.
func TestHeadReturnsAfterFirstEvent(t *testing.T) {
	server := esdbtest.Start(t, memory.New())
	d := open(t, server.URL()+"&defaultDeadline=500")
	made := appendTo(t, d, "a", events.NoStream, 1)
	for range 2 {
		server.Fail(esdbtest.Fault{On: esdbtest.Read, Times: 1, After: 1, Hang: true})
	}
	before := server.Calls(esdbtest.Read)
	if head, err := d.Head(t.Context()); err != nil || head != made.Position {
		t.Errorf("Head: got %d, %v, want %d", head, err, made.Position)
	}
	appendTo(t, d, "a", events.AnyRevision, 1)
	if got := server.Calls(esdbtest.Read) - before; got != 2 {
		t.Errorf("Head and Append: got %d reads, want 2", got)
	}
}

func TestCallsGoToNewLeader(t *testing.T) {
	log := memory.New()
	a, b, c := esdbtest.Start(t, log), esdbtest.Start(t, log), esdbtest.Start(t, log)
	esdbtest.Cluster(a, b, c)
	for name, url := range map[string]string{
		"from one node":             b.URL(),
		"by gossip":                 "esdb://" + a.Address() + "," + b.Address() + "," + c.Address() + "?tls=false",
		"by gossip of one node":     "esdb+discover://" + c.Address() + "?tls=false",
		"with the kurrentdb scheme": "kurrentdb+discover://" + c.Address() + "?tls=false",
	} {
		t.Run(name, func(t *testing.T) {
			esdbtest.Cluster(a, b, c)
			stream := "s " + name
			d := open(t, url)
			appendTo(t, d, stream, events.NoStream, 1)
			before := c.Calls(esdbtest.Append)
			esdbtest.Cluster(c, a, b)
			appendTo(t, d, stream, 0, 1)
			if batch, err := d.ReadStream(t.Context(), stream, 0, 10); err != nil || len(batch) != 2 {
				t.Errorf("ReadStream from the new leader: got %d events, %v, want 2", len(batch), err)
			}
			if got := c.Calls(esdbtest.Append) - before; got != 1 {
				t.Errorf("the new leader received %d appends, want 1", got)
			}
		})
	}
}

func TestFailoverToNewLeader(t *testing.T) {
	log := memory.New()
	a, b := esdbtest.Start(t, log), esdbtest.Start(t, log)
	esdbtest.Cluster(a, b)
	d := open(t, "esdb://"+a.Address()+","+b.Address()+"?tls=false")
	appendTo(t, d, "a", events.NoStream, 1)
	a.Stop()
	made := make(chan events.Appended)
	go func() { made <- appendTo(t, d, "a", 0, 1) }()
	esdbtest.Cluster(b, a) // b becomes the leader while the append waits
	if got := <-made; got.Revision != 1 {
		t.Errorf("Append during an election: got revision %d, want 1", got.Revision)
	}
}

func TestWaitSurvivesLostSubscription(t *testing.T) {
	log := memory.New()
	server := esdbtest.Start(t, log)
	d := open(t, server.URL()+"&defaultDeadline=200")
	revision := int64(events.NoStream)
	// wake appends directly to the log, so that only the subscription notifies the
	// driver.
	wake := func(when string) {
		t.Helper()
		head, err := log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- d.Wait(t.Context(), head) }()
		revision = appendTo(t, log, "a", revision, 1).Revision
		if err := <-done; err != nil {
			t.Errorf("Wait %s: %v", when, err)
		}
	}
	wake("without faults")
	server.Drop()
	wake("after the subscription was dropped")
	server.Fail(esdbtest.Fault{On: esdbtest.Subscribe, Times: 3, Code: codes.Unavailable})
	server.Drop()
	wake("after subscriptions were refused")
	server.Fail(esdbtest.Fault{On: esdbtest.Subscribe, Times: 2, After: 1, Code: codes.Unavailable})
	server.Drop()
	wake("after subscriptions were interrupted")
	server.Restart(t)
	wake("after a restart of the server")
	server.Fail(esdbtest.Fault{On: esdbtest.Subscribe, Hang: true})
	server.Drop()
	wake("after the server stopped to notify")
}

func TestWrongPasswordIsReported(t *testing.T) {
	authority, config := certificate(t)
	server := esdbtest.StartWith(t, memory.New(), esdbtest.Options{TLS: config, User: "annals", Password: "right"})
	url := server.URL() + "&tlsCaFile=" + authority
	d := open(t, url)
	appendTo(t, d, "a", events.NoStream, 1)
	wantLength(t, d, 1)
	for name, c := range map[string]struct{ url, want string }{
		"another password":  {strings.Replace(url, "right", "wrong", 1), "rejects the user and password"},
		"no password":       {strings.Replace(url, "annals:right@", "", 1), "rejects the user and password"},
		"another authority": {server.URL() + "&defaultDeadline=200", "does not respond"},
	} {
		_, err := openURL(t, c.url)
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open with %s: got error %v, want %q", name, err, c.want)
		} else if detail := fault.Detail(err); strings.Contains(detail, "wrong") || strings.Contains(detail, "right") {
			t.Errorf("Open with %s: the error contains the password: %s", name, detail)
		}
	}
}
