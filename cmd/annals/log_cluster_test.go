package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"

	"google.golang.org/grpc/codes"
)

// TestImportSurvivesLogServerRestart checks that each file is imported exactly once
// although the EventStoreDB server with the log restarts repeatedly, loses replies and
// drops subscriptions.
func TestImportSurvivesLogServerRestart(t *testing.T) {
	log, dir := memory.New(), t.TempDir()
	cluster := esdbtest.Start(t, log)
	server, err := startServer(dir, nil, "--log", cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.end(os.Kill) })
	ctx, cancel := context.WithCancel(t.Context())
	files, imported := notes("filed"), make(chan error, 1)
	go func() {
		defer cancel()
		imported <- importFiles(t, dir, "filed", files)
	}()
	for _, fail := range []func(){
		func() {
			cluster.Fail(esdbtest.Fault{On: esdbtest.Append, Times: 3, LoseReply: true, Code: codes.Unavailable})
		},
		func() { cluster.Restart(t) },
		cluster.Drop,
		func() { cluster.Fail(esdbtest.Fault{On: esdbtest.Read, Times: 5, Code: codes.Unavailable}) },
		func() { cluster.Restart(t) },
	} {
		head, err := log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if log.Wait(ctx, head) == nil { // otherwise the import has ended already
			fail()
		}
	}
	if err := <-imported; err != nil {
		t.Fatalf("import: %v", err)
	}
	if err := server.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	all, _, err := log.ReadAll(t.Context(), 0, 10_000, nil)
	if err != nil {
		t.Fatal(err)
	}
	types := make(map[string]int)
	for _, r := range all {
		types[r.Type]++
	}
	for _, name := range []string{"DocumentImported", "FileImported"} {
		if types[name] != len(files) {
			t.Errorf("the log has %d events %s, want %d", types[name], name, len(files))
		}
	}
	if out, err := verified(t, dir+"/annals-data", "--log", cluster.URL()); err != nil || strings.Contains(out, "not compared") {
		t.Errorf("verify: %v\n%s", err, out)
	}
}
