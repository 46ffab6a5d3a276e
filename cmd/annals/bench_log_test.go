package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/cmd/annals/engine"
	"annals/events"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

const (
	historyJobFiles   = 100 // files in each job
	historyJobEvents  = 820 // events of each job, approximately
	historyFolderJobs = 2   // target folders of each job
)

// history generates a log that resembles the logs of real imports. The same seed always
// generates the same log. It has concurrent jobs of 100 files. Each file is accepted,
// read into five sections of 150 words on average, filed, and finished. Of a thousand
// events 610 are sections, 125 accept files, 120 file documents, and 120 finish files.
// One file in ten takes so long that its progress is recorded, and one file in a
// hundred fails. Later one document in twenty is renamed, tagged, moved or revised.
type history struct {
	log     *events.Log
	jobs    int
	folders []uuid.UUID
	words   string // from which all texts are cut
}

// benchHistory returns a data folder that contains only a generated log of about n
// events. The log is cached for later runs.
func benchHistory(b *testing.B, n int) (dataDir string) {
	b.Helper()
	const form = 2 // version of the generator; cached logs of other versions are not used
	dataDir = filepath.Join(os.TempDir(), fmt.Sprintf("annals-bench-%d-%d", form, n))
	if exists(dataDir) {
		return dataDir
	}
	begun := time.Now()
	making, err := os.MkdirTemp(os.TempDir(), "annals-bench-*")
	if err == nil {
		err = writeHistory(b.Context(), making, n)
	}
	if err == nil {
		err = os.Rename(making, dataDir)
	}
	if err != nil {
		b.Fatal(errors.Join(err, os.RemoveAll(making)))
	}
	b.Logf("a log of %d events was made in %s", n, time.Since(begun).Round(time.Second))
	return dataDir
}

func writeHistory(ctx context.Context, dataDir string, n int) (err error) {
	driver, err := engine.OpenLog(ctx, engine.LogFlag, "", dataDir, engine.MayCreate)
	if err != nil {
		return err
	}
	h := &history{log: events.NewLog(driver), jobs: max(1, n/historyJobEvents)}
	defer func() { err = errors.Join(err, h.log.Close()) }()
	random := rand.New(rand.NewPCG(4, 4))
	var words strings.Builder
	for words.Len() < 4<<20 {
		words.WriteString(zipfWord(random))
		if random.IntN(15) == 0 {
			words.WriteByte('.')
		}
		words.WriteByte(' ')
	}
	h.words = words.String()
	if err := h.writeFolders(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(128)
	for job := range h.jobs {
		g.Go(func() error { return h.writeJob(ctx, job) })
	}
	return g.Wait()
}

// writeFolders creates all folders, a hundred in each top-level folder.
func (h *history) writeFolders(ctx context.Context) error {
	var top uuid.UUID
	expected := events.NoStream
	for i := range h.jobs * historyFolderJobs {
		var made []events.New
		if i%100 == 0 {
			top = uuid.New()
			made = append(made, events.New{Data: events.FolderCreated{Folder: top, Name: fmt.Sprint("top ", i), Owner: "user:owner"}})
		}
		folder := uuid.New()
		made = append(made, events.New{Data: events.FolderCreated{Folder: folder, Parent: top, Name: fmt.Sprint("folder ", i)}})
		if i%10 == 0 {
			made = append(made, events.New{Data: events.FolderShared{Folder: folder, Permissions: []events.Permission{{Principal: "user:" + benchReader, Access: "read"}}}})
		}
		at, err := h.log.Append(ctx, events.Folders, expected, benchCause, made...)
		if err != nil {
			return err
		}
		expected = at.Revision
		h.folders = append(h.folders, folder)
	}
	return nil
}

// historyJob is a job that is being written.
type historyJob struct {
	*history
	random *rand.Rand
	stream string
	last   int64
	failed int
}

func (h *history) writeJob(ctx context.Context, n int) error {
	j := &historyJob{history: h, random: rand.New(rand.NewPCG(5, uint64(n))), last: events.NoStream}
	j.stream = events.JobStream(uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, "job ", n)))
	files := make([]events.FileAccepted, historyJobFiles)
	begin := make([]events.Data, len(files), len(files)+1)
	for i := range files {
		folder := h.folders[n*historyFolderJobs+i%historyFolderJobs]
		files[i] = events.FileAccepted{
			File: i, Name: fmt.Sprintf("Report %d of %d.md", i, n), Folder: "Projects/Reports of the year", Under: folder,
			SHA256: fmt.Sprintf("%032x%032x", j.random.Uint64(), n*historyJobFiles+i), Size: 5000, MediaType: "text/markdown",
		}
		begin[i] = files[i]
	}
	if err := j.append(ctx, append(begin, events.ImportRequested{Files: len(files), User: "user:owner"})...); err != nil {
		return err
	}
	for _, f := range files {
		if err := j.file(ctx, f); err != nil {
			return err
		}
	}
	return j.append(ctx, events.JobFinished{Successful: len(files) - j.failed, Failed: j.failed})
}

// append appends events to the stream of the job.
func (j *historyJob) append(ctx context.Context, all ...events.Data) error {
	at, err := j.log.Append(ctx, j.stream, j.last, benchCause, newEvents(all)...)
	j.last = at.Revision
	return err
}

func newEvents(all []events.Data) []events.New {
	made := make([]events.New, len(all))
	for i, data := range all {
		made[i].Data = data
	}
	return made
}

// file appends the events of the import of one file.
func (j *historyJob) file(ctx context.Context, f events.FileAccepted) error {
	var steps []events.Data
	if j.random.IntN(10) == 0 {
		steps = append(steps, events.FileStarted{File: f.File}, events.FileStepped{File: f.File, Step: "reading", Message: "page 12 of 40"})
	}
	if j.random.IntN(100) == 0 {
		j.failed++
		return j.append(ctx, append(steps, events.FileFailed{File: f.File, Error: "the file is damaged"})...)
	}
	id := events.DocumentID(f.Under, f.SHA256, 0)
	content, err := j.text(ctx, id, 0, f)
	if err != nil {
		return err
	}
	imported := events.DocumentImported{Version: 1, Folder: f.Under, Name: f.Name, Content: content}
	if _, err := j.log.Append(ctx, events.DocumentStream(id), events.NoStream, benchCause, events.New{Data: imported}); err != nil {
		return err
	}
	if j.random.IntN(20) == 0 {
		if err := j.change(ctx, id, f); err != nil {
			return err
		}
	}
	return j.append(ctx, append(steps, events.FileImported{File: f.File, Document: id, Title: content.Title})...)
}

// text appends a text stream with the sections of a document.
func (j *historyJob) text(ctx context.Context, id uuid.UUID, attempt int, f events.FileAccepted) (events.Content, error) {
	title := j.cut(40)
	sections := make([]events.Data, 1+j.random.IntN(9))
	for i := range sections {
		path := []string{title, j.cut(30)}
		sections[i] = events.SectionExtracted{Index: i, Level: 2, Title: path[1], Path: path, Text: j.cut(300 + j.random.IntN(1600))}
	}
	stream := events.TextStream(id, attempt)
	_, err := j.log.Append(ctx, stream, events.NoStream, benchCause, newEvents(sections)...)
	return events.Content{
		SHA256: f.SHA256, Size: f.Size, MediaType: f.MediaType, Title: title, TextStream: stream, Sections: len(sections), Extractor: 1,
		Description: j.cut(100), Summary: j.cut(300),
	}, err
}

// cut returns a random piece of j.words, of the given length.
func (j *historyJob) cut(length int) string {
	at := j.random.IntN(len(j.words) - length)
	return strings.ToValidUTF8(j.words[at:at+length], "")
}

// change appends a random change of a document, which makes its version 2.
func (j *historyJob) change(ctx context.Context, id uuid.UUID, f events.FileAccepted) (err error) {
	var made events.Data
	switch j.random.IntN(4) {
	case 0:
		made = events.DocumentRenamed{Version: 2, Name: "Final " + f.Name}
	case 1:
		made = events.DocumentTagged{Version: 2, Tags: []string{"final", "report"}}
	case 2:
		made = events.DocumentMoved{Version: 2, Folder: j.folders[j.random.IntN(len(j.folders))]}
	default:
		revised := events.DocumentRevised{Version: 2}
		if revised.Content, err = j.text(ctx, id, 1, f); err != nil {
			return err
		}
		made = revised
	}
	_, err = j.log.Append(ctx, events.DocumentStream(id), 0, benchCause, events.New{Data: made})
	return err
}
