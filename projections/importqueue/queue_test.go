package importqueue_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/importqueue"
	"annals/projections/projectionstest"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

// work runs the read models of a log until the test ends, and returns the runner of the
// work read model.
func work(t *testing.T, log *events.Log) *projections.Runner {
	t.Helper()
	s, _ := projectionstest.Serve(t, projectionstest.Options(t, log, t.TempDir()))
	return s.Runner("work")
}

// newControl returns the control store of the leases.
func newControl(t *testing.T) *control.Store {
	t.Helper()
	return projectionstest.Control(t, t.TempDir())
}

// request appends the events of a job with the given number of files.
func request(t *testing.T, log *events.Log, user events.Principal, files int) (job uuid.UUID) {
	t.Helper()
	job = uuid.New()
	for i := range files {
		projectionstest.Append(t, log, events.JobStream(job), events.FileAccepted{File: i, Name: "f.md", Folder: "F", SHA256: "aa", Size: 1})
	}
	projectionstest.Append(t, log, events.JobStream(job), events.ImportRequested{Files: files, User: user})
	return job
}

func subscribe(t *testing.T, q *importqueue.Queue) <-chan *message.Message {
	t.Helper()
	q.Logger = projectionstest.Quiet
	out, err := q.Subscribe(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func receive(t *testing.T, out <-chan *message.Message) (*message.Message, importqueue.Task) {
	t.Helper()
	msg, ok := <-out
	if !ok {
		t.Fatal("the channel of the queue is closed")
	}
	var task importqueue.Task
	if err := json.Unmarshal(msg.Payload, &task); err != nil {
		t.Fatal(err)
	}
	return msg, task
}

func TestUsersTakeTurns(t *testing.T) {
	log := projectionstest.NewLog(t)
	many := request(t, log, "user:alice", 50)
	few := request(t, log, "user:bob", 2)
	q := &importqueue.Queue{Work: work(t, log), Control: newControl(t), Holder: "here", Workers: 1}
	out := subscribe(t, q)
	var order []uuid.UUID
	for range 5 {
		msg, task := receive(t, out)
		order = append(order, task.Job)
		projectionstest.Append(t, log, events.JobStream(task.Job), events.FileImported{File: task.File})
		msg.Ack()
	}
	bobs := 0
	for _, job := range order[:4] {
		if job == few {
			bobs++
		}
	}
	if bobs != 2 {
		t.Errorf("the first four files have %d of bob, want 2 (jobs %v, that of alice is %v)", bobs, order, many)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

// A user without files in progress gets a first file immediately, even if other users
// have all their slots in use. The oldest files of each user come first.
func TestIdleUserIsServedImmediately(t *testing.T) {
	log := projectionstest.NewLog(t)
	const users = importqueue.ManyUsers + 3
	jobs := map[uuid.UUID]int{}
	for n := range users {
		jobs[request(t, log, events.Principal(fmt.Sprint("user:", n)), 20)] = n
	}
	q := &importqueue.Queue{Work: work(t, log), Control: newControl(t), Holder: "here", Workers: 8}
	projectionstest.Wait(t, q.Work, projectionstest.Head(t, log))
	out := subscribe(t, q)
	var messages []*message.Message
	got := make(map[uuid.UUID][]int)
	receiveUntil := func(want int) {
		t.Helper()
		for len(messages) < want {
			select {
			case msg := <-out:
				var task importqueue.Task
				if err := json.Unmarshal(msg.Payload, &task); err != nil {
					t.Fatal(err)
				}
				messages = append(messages, msg)
				got[task.Job] = append(got[task.Job], task.File)
			case <-time.After(10 * time.Second):
				t.Fatalf("received %d messages, want %d: %v", len(messages), want, got)
			}
		}
	}
	receiveUntil(importqueue.ManyUsers * q.Workers)
	late := request(t, log, "user:late", 3)
	receiveUntil(importqueue.ManyUsers*q.Workers + 1)
	if !slices.Equal(got[late], []int{0}) || len(got) != users+1 {
		t.Errorf("received the files %v of the last user, want the first one, and files of %d users, want %d", got[late], len(got), users+1)
	}
	for job, files := range got {
		if len(files) > q.Workers || files[0] != 0 || !slices.IsSorted(files) {
			t.Errorf("received the files %[2]v of user %[1]d, want the oldest, %[3]d at most", jobs[job], files, q.Workers)
		}
	}
	for _, msg := range messages {
		msg.Nack()
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

// A returned file is handed out again before the later files of its user.
func TestReturnedFileComesNext(t *testing.T) {
	log := projectionstest.NewLog(t)
	request(t, log, "user:alice", 6)
	q := &importqueue.Queue{Work: work(t, log), Control: newControl(t), Holder: "here", Workers: 2}
	projectionstest.Wait(t, q.Work, projectionstest.Head(t, log))
	out := subscribe(t, q)
	first, _ := receive(t, out)
	second, _ := receive(t, out)
	first.Nack()
	for want := range 2 {
		msg, task := receive(t, out)
		if task.File != want*2 {
			t.Errorf("received file %d, want %d", task.File, want*2)
		}
		if want == 0 {
			second.Ack()
		}
		msg.Ack()
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

// No files of a user are claimed while Room returns 0.
func TestClaimsAheadAreBoundedByRoom(t *testing.T) {
	log := projectionstest.NewLog(t)
	blocked, free := request(t, log, "user:alice", 20), request(t, log, "user:bob", 20)
	var room atomic.Int64
	q := &importqueue.Queue{
		Work: work(t, log), Control: newControl(t), Holder: "here", Workers: 8,
		Room: func(owner string, held, most int) int {
			if owner == "user:alice" {
				return int(room.Load())
			}
			return most - held
		},
	}
	projectionstest.Wait(t, q.Work, projectionstest.Head(t, log))
	out := subscribe(t, q)
	var messages []*message.Message
	for range 8 {
		msg, task := receive(t, out)
		if messages = append(messages, msg); task.Job != free {
			t.Errorf("received a file of the user without room")
		}
	}
	room.Store(1)
	messages[0].Ack()
	for {
		msg, task := receive(t, out)
		messages = append(messages, msg)
		if task.Job == blocked {
			break
		}
	}
	for _, msg := range messages[1:] {
		msg.Nack()
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

// Messages that are set aside do not keep later files of their user from being handed out, until
// they are acknowledged or returned.
func TestMessagesSetAsideDoNotCount(t *testing.T) {
	log := projectionstest.NewLog(t)
	job := request(t, log, "user:alice", 20)
	q := &importqueue.Queue{Work: work(t, log), Control: newControl(t), Holder: "here", Workers: 2}
	projectionstest.Wait(t, q.Work, projectionstest.Head(t, log))
	out := subscribe(t, q)
	var messages []*message.Message
	for want := range 8 {
		msg, task := receive(t, out)
		if messages = append(messages, msg); task.File != want {
			t.Errorf("received file %d, want %d", task.File, want)
		}
		if want < 6 {
			q.SetAside(job, task.File)
			q.SetAside(job, task.File) // counts once
		}
	}
	select {
	case <-out: // two messages count
		t.Error("received more messages than Workers")
	case <-time.After(100 * time.Millisecond):
	}
	for file, msg := range messages[:6] {
		projectionstest.Append(t, log, events.JobStream(job), events.FileImported{File: file})
		msg.Ack()
	}
	q.SetAside(job, 0) // has ended
	messages[6].Nack()
	messages[7].Nack()
	for want := 6; want < 8; want++ {
		msg, task := receive(t, out)
		if task.File != want {
			t.Errorf("received file %d, want %d, which was returned", task.File, want)
		}
		msg.Nack()
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

func TestMessagesSetAsideAreLimited(t *testing.T) {
	held := map[string]int{"few": 20, "many": importqueue.MostAside + 10}
	aside := map[string]int{"few": 15, "many": importqueue.MostAside + 5}
	if few, all := importqueue.Counted("few", held, aside); few != 5 || all != 15 {
		t.Errorf("%d messages of one user and %d of all count, want 5 and 15", few, all)
	}
	if many, _ := importqueue.Counted("many", held, aside); many != 10 {
		t.Errorf("%d messages of the user with many count, want 10", many)
	}
	const users = 2 * importqueue.MostAsideAll / importqueue.MostAside
	for n := range users {
		held[fmt.Sprint(n)], aside[fmt.Sprint(n)] = importqueue.MostAside, importqueue.MostAside
	}
	if own, all := importqueue.Counted("1", held, aside); own != 0 || all != users*importqueue.MostAside+20+importqueue.MostAside+10-importqueue.MostAsideAll {
		t.Errorf("with many users %d messages of one and %d of all count", own, all)
	}
}

func TestFileClaimedOnce(t *testing.T) {
	log := projectionstest.NewLog(t)
	job := request(t, log, "user:alice", 200)
	runner, leases := work(t, log), newControl(t)
	var mu sync.Mutex
	times := make(map[int]int)
	var all sync.WaitGroup
	done := make(chan struct{})
	for _, holder := range []string{"one", "two", "three"} {
		q := &importqueue.Queue{Work: runner, Control: leases, Holder: holder, Workers: 4}
		out := subscribe(t, q)
		t.Cleanup(func() { q.Close() })
		all.Go(func() {
			for {
				select {
				case msg := <-out:
					var task importqueue.Task
					if err := json.Unmarshal(msg.Payload, &task); err != nil {
						t.Error(err)
					}
					projectionstest.Append(t, log, events.JobStream(job), events.FileImported{File: task.File})
					mu.Lock()
					times[task.File]++
					if len(times) == 200 {
						close(done)
					}
					mu.Unlock()
					msg.Ack()
				case <-done:
					return
				}
			}
		})
	}
	all.Wait()
	for file, n := range times {
		if n != 1 {
			t.Errorf("file %d was handed out %d times", file, n)
		}
	}
}

func TestNackReturnsFile(t *testing.T) {
	log := projectionstest.NewLog(t)
	request(t, log, "user:alice", 1)
	q := &importqueue.Queue{Work: work(t, log), Control: newControl(t), Holder: "here", Workers: 2}
	out := subscribe(t, q)
	msg, first := receive(t, out)
	ctx := msg.Context()
	msg.Nack()
	<-ctx.Done() // the message of a worker that still imports the file is canceled
	msg, second := receive(t, out)
	if first != second {
		t.Errorf("received %v after Nack, want %v again", second, first)
	}
	msg.Ack()
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

func TestLostLeaseCancelsImport(t *testing.T) {
	t.Parallel()
	log, leases := projectionstest.NewLog(t), newControl(t)
	request(t, log, "user:alice", 1)
	q := &importqueue.Queue{Work: work(t, log), Control: leases, Holder: "here", Workers: 1}
	msg, task := receive(t, subscribe(t, q))
	select {
	case <-msg.Context().Done():
		t.Fatal("the import was canceled while its lease was renewed")
	case <-time.After(importqueue.RenewEvery + time.Second):
	}
	if err := leases.ReleaseAll(t.Context(), "here"); err != nil { // as if the lease had expired
		t.Fatal(err)
	}
	lease := fmt.Sprintf("import/%s/%d", task.Job, task.File)
	if won, err := leases.Claim(t.Context(), "elsewhere", time.Hour, lease); !won[lease] || err != nil {
		t.Fatalf("Claim of the released lease %s = %v, %v, want it won", lease, won, err)
	}
	select {
	case <-msg.Context().Done():
	case <-time.After(3 * importqueue.RenewEvery):
		t.Error("the import was not canceled although another process has the lease")
	}
	msg.Nack()
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}
