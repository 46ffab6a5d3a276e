package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"annals/events"

	"github.com/google/uuid"
)

// soundLog is the state that results from all events of a log.
type soundLog struct {
	jobs    map[string]int  // number of JobFinished events by job
	files   map[string]int  // number of files by job
	revises map[string]bool // jobs that replace the content of a document
	removed map[string]bool // jobs whose documents the test may have deleted

	ids      map[uuid.UUID]bool
	next     map[string]int64 // next revision by stream
	versions map[string]int   // last version of each document, by stream
	last     int64            // last position
}

// wantSoundLog reads the whole log and checks that event ids are unique, that positions
// rise, that revisions and document versions have no gaps, and that every accepted job
// is in the log.
func (c *crashTest) wantSoundLog() *soundLog {
	c.Helper()
	var out bytes.Buffer
	if err := run(c.Context(), []string{"events", "--json", "--data", c.data}, nil, &out, io.Discard); err != nil {
		c.Fatal(err)
	}
	l := &soundLog{
		jobs: map[string]int{}, files: map[string]int{}, revises: map[string]bool{}, removed: map[string]bool{},
		ids: map[uuid.UUID]bool{}, next: map[string]int64{}, versions: map[string]int{}, last: -1,
	}
	for text := range bytes.Lines(out.Bytes()) {
		var e events.Record
		if err := json.Unmarshal(text, &e); err != nil {
			c.Fatal(err)
		}
		switch {
		case l.ids[e.ID]:
			c.Errorf("the event %s occurs twice", e.ID)
		case e.Revision != l.next[e.Stream]:
			c.Errorf("revision %d of %s follows %d", e.Revision, e.Stream, l.next[e.Stream]-1)
		case int64(e.Position) <= l.last:
			c.Errorf("position %d follows %d", e.Position, l.last)
		}
		l.ids[e.ID] = true
		l.next[e.Stream] = e.Revision + 1
		l.last = int64(e.Position)
		c.fold(l, e)
	}
	for id := range c.jobs {
		if _, found := l.jobs[id]; !found {
			c.Errorf("the accepted job %s is not in the log", id)
		}
	}
	return l
}

// fold applies an event of a job or of a document to l. In this test no request changes
// a document twice.
func (c *crashTest) fold(l *soundLog, e events.Record) {
	c.Helper()
	var data struct {
		Version  int       `json:"version"`
		Document uuid.UUID `json:"document"`
		Folder   string    `json:"folder"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		c.Fatal(err)
	}
	job := strings.TrimPrefix(e.Stream, "job-")
	switch e.Type {
	case "FileAccepted":
		l.files[job]++
		l.revises[job] = data.Document != uuid.Nil
		l.removed[job] = strings.HasPrefix(data.Folder, removedFolder)
	case "ImportRequested":
		l.jobs[job] = 0
	case "JobFinished":
		l.jobs[job]++
	}
	if strings.HasPrefix(e.Stream, "document-") {
		if data.Version != l.versions[e.Stream]+1 {
			c.Errorf("%s of %s makes version %d after %d", e.Type, e.Stream, data.Version, l.versions[e.Stream])
		}
		l.versions[e.Stream] = data.Version
	}
}
