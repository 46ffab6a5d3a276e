//go:build !race

package projections

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"annals/events"

	"github.com/google/uuid"
)

// story tells of random changes, some of which a program does not know yet.
type story struct {
	*proven
	*learning
	*rand.Rand
	folders   []uuid.UUID
	documents []*storyDocument
	deletes   bool // of folders
	revises   bool // texts, which may be hidden too
}

type storyDocument struct {
	id       uuid.UUID
	version  int
	attempts int
}

func newStory(t *testing.T, seed uint64) *story {
	s := &story{Rand: rand.New(rand.NewPCG(seed, 0)), deletes: seed%3 == 0, revises: seed%3 == 1}
	s.proven, s.learning = newLearning(t)
	s.byType = seed%2 == 1
	for range 4 {
		s.addFolder()
	}
	for range 45 {
		s.step()
	}
	return s
}

// hide keeps some streams from the program, from some event on.
func (s *story) hide(stream string) {
	if s.IntN(2) == 0 {
		s.know(stream, s.Int64N(3))
	}
}

func (s *story) folder() uuid.UUID { return s.folders[s.IntN(len(s.folders))] }

func (s *story) addFolder() {
	folder, parent := uuid.New(), uuid.Nil
	if len(s.folders) > 0 && s.IntN(2) == 0 {
		parent = s.folder()
	}
	s.folders = append(s.folders, folder)
	add(s, s.log, events.Folders, events.FolderCreated{Folder: folder, Parent: parent, Name: folder.String()})
}

// moveFolder keeps the tree a tree: folders are below earlier ones alone.
func (s *story) moveFolder() {
	i := 1 + s.IntN(len(s.folders)-1)
	add(s, s.log, events.Folders, events.FolderMoved{Folder: s.folders[i], Parent: s.folders[s.IntN(i)]})
}

func (s *story) text(d *storyDocument) events.Content {
	if s.revises {
		s.hide(events.TextStream(d.id, d.attempts))
	}
	d.attempts++
	return write(s, s.log, d.id, d.attempts, "lamp", 1+s.IntN(3))
}

func (s *story) importFile() {
	d := &storyDocument{id: uuid.New(), version: 1}
	s.documents = append(s.documents, d)
	job := uuid.New()
	s.hide(events.DocumentStream(d.id))
	s.hide(events.JobStream(job))
	if s.revises && s.IntN(4) == 0 {
		s.text(d) // which was cut off
	}
	content := s.text(d)
	add(s, s.log, events.JobStream(job), events.FileAccepted{File: 0, Name: "a.md", Folder: "F"}, events.FileAccepted{File: 1, Name: "b.exe", Refused: "not a document"},
		events.ImportRequested{User: "user:alice", Files: 2})
	add(s, s.log, events.DocumentStream(d.id), events.DocumentImported{Version: 1, Folder: s.folder(), Name: "a.md", Tags: []string{"new"}, Content: content})
	add(s, s.log, events.JobStream(job), events.FileImported{File: 0, Document: d.id}, events.JobFinished{Successful: 1, Failed: 1})
}

// change changes a document, which may be gone with its folder.
func (s *story) change() {
	i := s.IntN(len(s.documents))
	d := s.documents[i]
	d.version++
	var change events.Data
	switch n := s.IntN(10); {
	case n < 3:
		change = events.DocumentMoved{Version: d.version, Folder: s.folder()}
	case n < 5:
		change = events.DocumentTagged{Version: d.version, Tags: []string{fmt.Sprint("tag", d.version)}}
	case n < 7:
		change = events.DocumentRenamed{Version: d.version, Name: fmt.Sprint(d.version, ".md")}
	case n < 8:
		change = events.DocumentDeleted{Version: d.version}
		s.documents = append(s.documents[:i], s.documents[i+1:]...)
	case s.revises:
		change = events.DocumentRevised{Version: d.version, Content: s.text(d)}
	default:
		d.version--
		return
	}
	add(s, s.log, events.DocumentStream(d.id), change)
}

func (s *story) step() {
	switch n := s.IntN(22); {
	case n < 7 || len(s.documents) == 0:
		s.importFile()
	case n < 17:
		s.change()
	case n < 18:
		s.addFolder()
	case n < 19 || !s.deletes:
		s.moveFolder()
	default:
		add(s, s.log, events.Folders, events.FolderDeleted{Folder: s.folder()})
	}
}

// Whatever was parked when, read models are what the log gives once it was
// taken up.
func TestWhatIsTakenUpLateGivesTheSameReadModels(t *testing.T) {
	heavy(t)
	const stories = 3 // one of each kind
	applied, barred := map[string]int{}, map[string]int{}
	for seed := range uint64(stories) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newStory(t, seed)
			last, err := s.log.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.serve(last)
			s.know("", 0)
			s.retryAll(func(name string, done Retried) {
				barred[name] += done.Barred
				if done.Barred == 0 {
					applied[name] += done.Applied
				}
			})
			s.wantSound(0)
		})
	}
	for _, name := range Names() {
		if applied[name] == 0 {
			t.Errorf("nothing was applied late to %s", name)
		}
	}
	for _, name := range []string{"vault", "summaries", "usage", "passages"} {
		if barred[name] == 0 {
			t.Errorf("nothing made %s anew", name)
		}
	}
	t.Logf("applied late: %v; streams for a rebuild: %v", applied, barred)
}
