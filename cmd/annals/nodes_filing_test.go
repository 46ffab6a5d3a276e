package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/cmd/annals/service"
	"annals/commands"
	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/projections/control"

	"github.com/google/uuid"
)

// controls opens a shared control store for the given number of nodes, once for each
// node.
func controls(t *testing.T, nodes int) []*control.Store {
	t.Helper()
	database, err := sqldb.ParsePostgres(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*control.Store, nodes)
	for i := range all {
		if all[i], err = control.OpenShared(t.Context(), database); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := all[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return all
}

// logged answers HoldsDocuments from the log instead of a read model, and so without
// lag. It calls asked after each read of the log.
type logged struct {
	log   *events.Log
	asked func()
}

func (l logged) HoldsDocuments(ctx context.Context, folder uuid.UUID, _ events.Position) (holds bool, err error) {
	batch, _, err := l.log.Read(ctx, 0, 10_000, "DocumentImported", "DocumentMoved")
	for _, e := range batch {
		switch d := e.Data.(type) {
		case events.DocumentImported:
			holds = holds || d.Folder == folder
		case events.DocumentMoved:
			holds = holds || d.Folder == folder
		}
	}
	l.asked()
	return holds, err
}

// beforeDocuments is a log driver that calls before each time before it appends to the
// stream of a document.
type beforeDocuments struct {
	events.Driver
	before func()
}

func (d *beforeDocuments) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if strings.HasPrefix(stream, "document-") {
		d.before()
	}
	return d.Driver.Append(ctx, stream, expected, records)
}

var ada = events.User{Principal: "user:corp/ada"}

// filingNodes are two nodes that share a log. The node deletes deletes folders, the
// node files files documents in folders.
type filingNodes struct {
	*testing.T
	deletes, files *commands.Handler
	reads          *logged
	appends        *beforeDocuments
}

func newFilingNodes(t *testing.T) *filingNodes {
	driver := memory.New()
	n := &filingNodes{T: t, appends: &beforeDocuments{driver, func() {}}}
	log := events.NewLog(driver)
	t.Cleanup(func() { log.Close() })
	n.reads = &logged{log, func() {}}
	all := controls(t, 2)
	gate := func(i int) commands.Gate { return all[i].Gate("filing", service.FilingGateOpen) }
	n.deletes = &commands.Handler{Log: log, Contents: n.reads, Gate: gate(0), Logger: slog.New(slog.DiscardHandler)}
	n.files = &commands.Handler{Log: events.NewLog(n.appends), Gate: gate(1), Logger: n.deletes.Logger}
	return n
}

func (n *filingNodes) folder(name string) (id uuid.UUID) {
	n.Helper()
	id, _, err := n.deletes.CreateFolder(n.Context(), ada, "", foldertree.CreateFolder{Name: name})
	if err != nil {
		n.Fatal(err)
	}
	return id
}

func (n *filingNodes) remove(folder uuid.UUID) error {
	_, err := n.deletes.DeleteFolder(n.Context(), ada, "", foldertree.DeleteFolder{ID: folder, Version: -1})
	return err
}

var sha = strings.Repeat("a", 64)

// file files a document in a folder and then checks that the folder still exists, as an
// import does.
func (n *filingNodes) file(folder uuid.UUID) error {
	c := commands.ImportDocument{Folder: folder, Name: "a.md", Content: events.Content{SHA256: sha, TextStream: "text"}, User: ada}
	c.Cause = events.Cause{Actor: ada.Principal, Causation: folder.String()}
	c.ID = events.DocumentID(folder, c.SHA256, 0)
	_, err := n.files.ImportDocument(n.Context(), c)
	if err != nil {
		return err
	}
	there, err := n.files.HasFolder(n.Context(), folder)
	if err == nil && !there {
		err = errors.New("the folder was deleted meanwhile")
	}
	return err
}

// One node is slow: it may file a document, but appends the event only after the other
// node, which deletes the folder, has found the folder empty. The slow node must report
// that the folder was deleted.
func TestSlowNodeSeesFolderDeleted(t *testing.T) {
	t.Parallel()
	n := newFilingNodes(t)
	folder := n.folder("slow")
	permitted, seenEmpty, appended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	n.appends.before = sync.OnceFunc(func() {
		close(permitted)
		<-seenEmpty
		close(appended)
	})
	looks := 0
	n.reads.asked = func() {
		if looks++; looks == 2 { // the check after filing
			close(seenEmpty)
			<-appended
			time.Sleep(50 * time.Millisecond) // without the gate, the slow node would now check the folder before it is deleted
		}
	}
	result := make(chan error)
	go func() { result <- n.file(folder) }()
	<-permitted
	removed := n.remove(folder)
	if filed := <-result; removed != nil || filed == nil {
		t.Errorf("the folder was deleted (%v), and a document filed in it (%v); want the first, and an error", removed, filed)
	}
}

func TestMoveIntoFolderDeletedByOtherNode(t *testing.T) {
	t.Parallel()
	n := newFilingNodes(t)
	from, to := n.folder("from"), n.folder("to")
	if err := n.file(from); err != nil {
		t.Fatal(err)
	}
	document := events.DocumentID(from, sha, 0)
	result, looks := make(chan error, 1), 0
	n.reads.asked = func() {
		if looks++; looks == 2 {
			go func() {
				_, err := n.files.ChangeDocument(t.Context(), ada, "", commands.ChangeDocument{ID: document, Version: 1, Folder: &to})
				result <- err
			}()
			time.Sleep(50 * time.Millisecond) // without the gate, the folder would now be deleted before the document is moved
		}
	}
	if err := n.remove(to); err != nil {
		t.Errorf("DeleteFolder: %v", err)
	}
	if err := <-result; !fault.Is(err, fault.NotFound) {
		t.Errorf("the move to it: %v, want not found", err)
	}
	if err := n.files.CheckRevision(t.Context(), ada, document, 1); err != nil {
		t.Errorf("the document: %v", err)
	}
}

func TestFilingExcludesDeletionByOtherNode(t *testing.T) {
	t.Parallel()
	n := newFilingNodes(t)
	filed, removed := 0, 0
	for i := range 20 {
		folder := n.folder(fmt.Sprint(i))
		n.appends.before = func() { time.Sleep(rand.N(3 * service.FilingGateOpen)) }
		result := make(chan error)
		go func() {
			time.Sleep(rand.N(service.FilingGateOpen / 2))
			result <- n.file(folder)
		}()
		errRemoved, errFiled := n.remove(folder), <-result
		switch {
		case (errRemoved == nil) == (errFiled == nil):
			t.Fatalf("a document was filed (%v) and the folder deleted (%v)", errFiled, errRemoved)
		case errRemoved == nil:
			removed++
		case fault.Is(errRemoved, fault.Conflict):
			filed++
		default:
			t.Fatalf("DeleteFolder: %v", errRemoved)
		}
	}
	t.Logf("%d filed, %d deleted", filed, removed)
}
