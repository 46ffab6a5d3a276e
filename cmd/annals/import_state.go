package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gofrs/flock"
)

// importKey says which import a state file belongs to.
type importKey struct {
	Server string `json:"server"`
	Folder string `json:"folder"`
	Dir    string `json:"dir"`
}

// statePath is where the state of an import lies, if nothing else is said.
func statePath(k importKey) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the state of the import: %w; name one by --state", err)
	}
	sum := sha256.Sum256([]byte(k.Server + "\x00" + k.Folder + "\x00" + k.Dir))
	return filepath.Join(cache, "annals", "import", hex.EncodeToString(sum[:12])+".jsonl"), nil
}

// importState remembers what became of each file. It is a file to which a line
// is appended before anything relies on it, so that an import that was killed
// goes on from there. At worst the last upload was not noted: it is made once
// more, and the server recognises the files.
type importState struct {
	path string
	key  importKey
	lock *flock.Flock

	mu     sync.Mutex
	out    *os.File
	done   map[string]fileOutcome
	jobs   map[string][]localFile // in flight
	sums   map[localFile]string   // SHA-256 of what was sent of files in flight
	recent string                 // a job that the server should know
}

// fileOutcome is how the import of one file ended.
type fileOutcome struct {
	localFile
	Document  string `json:"document,omitempty"`
	Duplicate bool   `json:"duplicate,omitempty"`
	Error     string `json:"error,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	// SHA256 is of the content that the document got, and Version is the document's;
	// "" and 0 if they are not known. Tags are those that were given to it.
	SHA256  string   `json:"sha256,omitempty"`
	Version int      `json:"version,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	// Made says that an import made the document.
	Made bool `json:"made,omitempty"`
}

// What is noted of a path beside the outcomes that the service reports.
const (
	outcomeMoved     = "moved"     // its document has another path: nothing is known of this one any more
	outcomeForgotten = "forgotten" // by --restart: which document the import made is known alone
)

// stateLine is one line of the file; one of its fields is set.
type stateLine struct {
	Import *importKey    `json:"import,omitempty"`
	Job    string        `json:"job,omitempty"` // with Sent: now in flight; with Done: ended
	Sent   []localFile   `json:"sent,omitempty"`
	Sums   []string      `json:"sums,omitempty"` // of what was sent
	Done   []fileOutcome `json:"done,omitempty"`
}

// openState reads the state of an import and holds it for this process alone.
// With fresh set, what it said is forgotten but for the documents that the import
// made.
func openState(path string, key importKey, fresh bool) (*importState, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the state file: %w", err)
	}
	s := &importState{path: path, key: key, lock: flock.New(path + ".lock")}
	if held, err := s.lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock the state file %s: %w", path, err)
	} else if !held {
		return nil, fmt.Errorf("another import of this folder is running (it holds %s)", path)
	}
	err := s.load(fresh)
	if err == nil {
		err = s.rewrite()
	}
	if err != nil {
		return nil, errors.Join(err, s.lock.Unlock())
	}
	return s, nil
}

// forget drops everything that was noted.
func (s *importState) forget() error {
	s.clear()
	return errors.Join(s.out.Close(), s.rewrite())
}

func (s *importState) clear() {
	s.done, s.jobs, s.sums, s.recent = map[string]fileOutcome{}, map[string][]localFile{}, map[localFile]string{}, ""
}

// load reads the file, if there is one. With fresh set it need not be readable.
func (s *importState) load(fresh bool) error {
	err := s.read()
	if !fresh {
		return err
	}
	made := s.done
	s.clear()
	if err != nil {
		return nil
	}
	for path, o := range made {
		if o.Made {
			s.done[path] = o.forgotten()
		}
	}
	return nil
}

// forgotten is what is left of a note.
func (o fileOutcome) forgotten() fileOutcome {
	return fileOutcome{localFile: localFile{Path: o.Path}, Document: o.Document, Made: o.Made, Outcome: outcomeForgotten, Error: "forgotten by --restart"}
}

func (s *importState) read() error {
	s.clear()
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the state of the import: %w", err)
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil // what has no end was cut off while it was written
		}
		if err != nil {
			return fmt.Errorf("read the state of the import: %w", err)
		}
		var l stateLine
		if err := json.Unmarshal(text, &l); err != nil || n == 1 && l.Import == nil {
			return fmt.Errorf("%s is no state of an import (line %d): name another file by --state, or pass --restart", s.path, n)
		}
		if l.Import != nil && *l.Import != s.key {
			return fmt.Errorf("%s is the state of the import of %s into %s at %s: name another file by --state, or pass --restart",
				s.path, l.Import.Dir, l.Import.Folder, l.Import.Server)
		}
		s.apply(l)
	}
}

func (s *importState) apply(l stateLine) {
	if l.Job != "" {
		s.recent = l.Job
		delete(s.jobs, l.Job)
	}
	if l.Sent != nil {
		s.jobs[l.Job] = l.Sent
	}
	for i, sum := range l.Sums[:min(len(l.Sums), len(l.Sent))] {
		s.sums[l.Sent[i]] = sum
	}
	for _, o := range l.Done {
		switch before, ok := s.done[o.Path]; {
		case o.Outcome == outcomeMoved:
			delete(s.done, o.Path)
		case o.Outcome == outcomeForgotten:
			s.done[o.Path] = o
		case o.Error != "" && ok: // what was known of the document is known still
			before.localFile, before.Error = o.localFile, o.Error
			s.done[o.Path] = before
		default:
			s.done[o.Path] = o
		}
		delete(s.sums, o.localFile)
	}
}

// rewrite replaces the file, in one step, by one without what is outdated,
// and opens it for more.
func (s *importState) rewrite() (err error) {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	err = lines.Encode(stateLine{Import: &s.key})
	for chunk := range slices.Chunk(slices.SortedFunc(maps.Values(s.done), byPath), 100) {
		err = errors.Join(err, lines.Encode(stateLine{Job: s.recent, Done: chunk}))
	}
	for id, sent := range s.jobs {
		err = errors.Join(err, lines.Encode(stateLine{Job: id, Sent: sent, Sums: s.sumsOf(sent)}))
	}
	if err != nil {
		return fmt.Errorf("encode the state of the import: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+".*")
	if err != nil {
		return fmt.Errorf("write the state of the import: %w", err)
	}
	_, err = f.Write(text.Bytes())
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return fmt.Errorf("write the state of the import: %w", errors.Join(err, f.Close(), os.Remove(f.Name())))
	}
	s.out = f
	return nil
}

func byPath(a, b fileOutcome) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) }

// sumsOf returns what is known of the content that was sent of files in flight.
func (s *importState) sumsOf(files []localFile) []string {
	sums := make([]string, len(files))
	for i, f := range files {
		sums[i] = s.sums[f]
	}
	return sums
}

// sent notes that files are in flight under a job, and the SHA-256 of each.
func (s *importState) sent(job string, files []localFile, sums []string) error {
	return s.append(stateLine{Job: job, Sent: files, Sums: sums})
}

// noted returns what is known of a file, and the SHA-256 of what was sent of it.
func (s *importState) noted(f localFile) (o fileOutcome, sent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[f.Path], s.sums[f]
}

// ended notes what became of files; of all of a job's, if job is not empty.
func (s *importState) ended(job string, outcomes []fileOutcome) error {
	return s.append(stateLine{Job: job, Done: outcomes})
}

// restart forgets what was noted of one file; with dryRun set, here alone.
func (s *importState) restart(name string, dryRun bool) error {
	o, ok := s.done[name]
	if !ok {
		return nil
	}
	l := stateLine{Done: []fileOutcome{o.forgotten()}}
	if dryRun {
		s.apply(l)
		return nil
	}
	return s.append(l)
}

func (s *importState) append(l stateLine) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode the state of the import: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.out.Write(append(text, '\n'))
	if err == nil {
		err = s.out.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the state of the import: %w", err)
	}
	s.apply(l)
	return nil
}

// finished reports whether a file was imported as it is now.
func (s *importState) finished(f localFile) bool {
	o, ok := s.done[f.Path]
	return ok && o.Error == "" && o.localFile == f
}

// close releases the lock of the state.
func (s *importState) close() error {
	return errors.Join(s.out.Close(), s.lock.Unlock())
}
