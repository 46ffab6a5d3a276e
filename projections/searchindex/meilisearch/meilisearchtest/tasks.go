package meilisearchtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gorilla/mux"
)

// index has the documents and settings of one index.
type index struct {
	created    time.Time
	documents  map[string]document
	contents   map[string]*content // by id of the document
	filterable []string
	displayed  []string // attributes that may be returned; nil means all
}

type document map[string]any

func newIndex() *index {
	return &index{created: now(), documents: make(map[string]document), contents: make(map[string]*content)}
}

// ids returns the ids of all documents in order.
func (x *index) ids() []string {
	all := make([]string, 0, len(x.documents))
	for id := range x.documents {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

// shown returns the displayed attributes of a document. If fields is set, it returns only
// those of them.
func (x *index) shown(d document, fields []string) document {
	shown := make(document)
	for name, value := range d {
		if (x.displayed == nil || slices.Contains(x.displayed, name)) && (fields == nil || slices.Contains(fields, name)) {
			shown[name] = value
		}
	}
	return shown
}

// task is a change that is made completely or not at all.
type task struct {
	UID        int       `json:"uid"`
	IndexUID   string    `json:"indexUid"`
	Status     string    `json:"status"`
	Type       string    `json:"type"`
	Error      *problem  `json:"error"`
	EnqueuedAt time.Time `json:"enqueuedAt"`

	run func() *problem // called under mu
}

// Hold keeps tasks in the queue until Release is called.
func (s *Server) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

// Release runs the queued tasks.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	s.work()
}

// Queued returns the number of queued tasks.
func (s *Server) Queued() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		if t.Status == "enqueued" {
			n++
		}
	}
	return n
}

// Forget deletes the records of all finished tasks, as a server does when it has too
// many.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range s.tasks {
		if t != nil && t.Status != "enqueued" {
			s.tasks[i] = &task{UID: -1}
		}
	}
}

// FailNext makes the next tasks that add documents fail, one with each of these codes. An
// empty code cancels a task.
func (s *Server) FailNext(codes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = append(s.failing, codes...)
}

// enqueue adds a task. The caller holds mu.
func (s *Server) enqueue(w http.ResponseWriter, uid, kind string, run func() *problem) {
	t := &task{UID: len(s.tasks), IndexUID: uid, Status: "enqueued", Type: kind, EnqueuedAt: now(), run: run}
	s.tasks = append(s.tasks, t)
	reply(w, http.StatusAccepted, map[string]any{"taskUid": t.UID, "indexUid": uid, "status": "enqueued", "type": kind, "enqueuedAt": t.EnqueuedAt})
	s.work()
}

func (s *Server) work() {
	for _, t := range s.tasks {
		if s.held || t.Status != "enqueued" {
			continue
		}
		if t.Type == "documentAdditionOrUpdate" && len(s.failing) > 0 {
			code := s.failing[0]
			s.failing = s.failing[1:]
			if t.Status = "failed"; code == "" {
				t.Status = "canceled"
			} else {
				t.Error = &problem{Message: "it was made to fail", Code: code}
			}
			continue
		}
		if t.Status, t.Error = "succeeded", t.run(); t.Error != nil {
			t.Status = "failed"
		}
	}
}

func (s *Server) getTask(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := strconv.Atoi(mux.Vars(r)["id"])
	if err != nil || id >= len(s.tasks) || s.tasks[id].UID != id {
		fail(w, http.StatusNotFound, "task_not_found", fmt.Sprintf("Task `%s` not found.", mux.Vars(r)["id"]))
		return
	}
	reply(w, http.StatusOK, s.tasks[id])
}

func (s *Server) createIndex(w http.ResponseWriter, r *http.Request) {
	var q struct{ UID string }
	if !read(w, r, &q) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(w, q.UID, "indexCreation", func() *problem {
		if s.indexes[q.UID] != nil {
			return &problem{Message: fmt.Sprintf("Index `%s` already exists.", q.UID), Code: "index_already_exists"}
		}
		s.indexes[q.UID] = newIndex()
		return nil
	})
}

func (s *Server) deleteIndex(w http.ResponseWriter, r *http.Request) {
	uid := mux.Vars(r)["uid"]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(w, uid, "indexDeletion", func() *problem {
		if s.indexes[uid] == nil {
			return &problem{Message: fmt.Sprintf("Index `%s` not found.", uid), Code: "index_not_found"}
		}
		delete(s.indexes, uid)
		return nil
	})
}

// change enqueues a task that changes an index. The task creates the index if it does not
// exist.
func (s *Server) change(w http.ResponseWriter, r *http.Request, kind string, run func(x *index) *problem) {
	uid := mux.Vars(r)["uid"]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(w, uid, kind, func() *problem {
		if s.indexes[uid] == nil {
			s.indexes[uid] = newIndex()
		}
		return run(s.indexes[uid])
	})
}

func (s *Server) updateSettings(w http.ResponseWriter, r *http.Request) {
	var q struct{ DisplayedAttributes []string }
	if read(w, r, &q) {
		s.change(w, r, "settingsUpdate", func(x *index) *problem {
			x.displayed = q.DisplayedAttributes
			return nil
		})
	}
}

func (s *Server) updateFilterable(w http.ResponseWriter, r *http.Request) {
	var rules []struct{ AttributePatterns []string }
	if read(w, r, &rules) {
		s.change(w, r, "settingsUpdate", func(x *index) *problem {
			x.filterable = nil
			for _, rule := range rules {
				x.filterable = append(x.filterable, rule.AttributePatterns...)
			}
			return nil
		})
	}
}

func (s *Server) addDocuments(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || len(body) == 0 {
		fail(w, http.StatusBadRequest, "missing_payload", "A ndjson payload is missing.")
		return
	}
	var all []document
	for line := range bytes.Lines(body) {
		var d document
		if err := json.Unmarshal(line, &d); err != nil {
			fail(w, http.StatusBadRequest, "malformed_payload", err.Error())
			return
		}
		all = append(all, d)
	}
	s.change(w, r, "documentAdditionOrUpdate", func(x *index) *problem {
		for _, d := range all {
			if id, _ := d["id"].(string); !validID.MatchString(id) {
				return &problem{Message: fmt.Sprintf("Document identifier `%v` is invalid.", d["id"]), Code: "invalid_document_id"}
			}
		}
		for _, d := range all {
			id, _ := d["id"].(string)
			x.documents[id], x.contents[id] = d, newContent(d)
		}
		return nil
	})
}

func (s *Server) deleteDocuments(w http.ResponseWriter, r *http.Request) {
	var q struct{ Filter string }
	if !read(w, r, &q) {
		return
	}
	s.change(w, r, "documentDeletion", func(x *index) *problem {
		pass, err := x.filter(q.Filter)
		if err != nil {
			return &problem{Message: err.Error(), Code: "invalid_document_filter"}
		}
		for id, d := range x.documents {
			if pass(d) {
				delete(x.documents, id)
				delete(x.contents, id)
			}
		}
		return nil
	})
}
