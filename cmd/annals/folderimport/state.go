package folderimport

import (
	"bufio"
	"bytes"
	"cmp"
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

// stateKey identifies an import. A state file contains the key of its import.
type stateKey struct {
	Server string `json:"server"`
	Folder string `json:"folder"`
	Dir    string `json:"dir"`
}

// statePath returns the default path of the state file of an import.
func statePath(k stateKey) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a directory for the state file: %w; pass a path as --state", err)
	}
	sum := sha256.Sum256([]byte(k.Server + "\x00" + k.Folder + "\x00" + k.Dir))
	return filepath.Join(cache, "annals", "import", hex.EncodeToString(sum[:12])+".jsonl"), nil
}

// state is the content of the state file: the outcome for each file, and the files
// whose jobs are still running. It lets a killed import continue. Each line is written
// and synced before the import continues with the next step. If the import is killed
// before it has recorded an upload, the next import uploads the same files again, and
// the server reports them as unchanged.
type state struct {
	path string
	key  stateKey
	lock *flock.Flock // nil in a dry run

	mu     sync.Mutex
	out    *os.File               // nil in a dry run
	done   map[string]outcome     // by path
	jobs   map[string][]localFile // files whose jobs are still running, by job
	sums   map[localFile]string   // SHA-256 of those files, as they were uploaded
	recent string                 // id of the last job; "" if there was none
}

// outcome is the record of what an import did with a file.
type outcome struct {
	localFile
	Document  string   `json:"document,omitempty"`
	Duplicate bool     `json:"duplicate,omitempty"`
	Error     string   `json:"error,omitempty"`
	Outcome   string   `json:"outcome,omitempty"`
	SHA256    string   `json:"sha256,omitempty"`  // of the document after the import; "" if it is unknown
	Version   int      `json:"version,omitempty"` // of the document after the import; 0 if it is unknown
	Tags      []string `json:"tags,omitempty"`    // tags that imports have added to the document
	Made      bool     `json:"made,omitempty"`    // true if an import created the document
	Warnings  []string `json:"-"`                 // parts of the file that could not be read
}

// Outcomes that the import records in addition to those that the server reports.
const (
	outcomeRenamed   = "renamed"   // the document of another file was moved to the path of this file
	outcomeMoved     = "moved"     // the document of this file was moved to another path; the record of this file is removed
	outcomeForgotten = "forgotten" // --restart removed the record, except for the document that an import created
)

// stateLine is one line of the state file. Exactly one of Import, Sent and Done is set.
type stateLine struct {
	Import *stateKey   `json:"import,omitempty"`
	Job    string      `json:"job,omitempty"` // with Sent, the job of these files has started; with Done, it has ended
	Sent   []localFile `json:"sent,omitempty"`
	Sums   []string    `json:"sums,omitempty"` // SHA-256 of the files in Sent
	Done   []outcome   `json:"done,omitempty"`
}

// openState reads the state file of an import, and locks it until close. If restart is
// set, it removes all records, except that it keeps which documents an import created.
func openState(path string, key stateKey, restart bool) (*state, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the directory for the state file: %w", err)
	}
	s := &state{path: path, key: key, lock: flock.New(path + ".lock")}
	if locked, err := s.lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock the state file %s: %w", path, err)
	} else if !locked {
		return nil, fmt.Errorf("another import of this folder is running (it has locked %s): wait until it ends", path)
	}
	err := s.load(restart)
	if err == nil {
		err = s.rewrite()
	}
	if err != nil {
		return nil, errors.Join(err, s.lock.Unlock())
	}
	return s, nil
}

// close closes the file and releases the lock. In a dry run it does nothing.
func (s *state) close() error {
	if s.lock == nil {
		return nil
	}
	return errors.Join(s.out.Close(), s.lock.Unlock())
}

// reset removes all records.
func (s *state) reset() error {
	s.clear()
	return errors.Join(s.out.Close(), s.rewrite())
}

func (s *state) clear() {
	s.done, s.jobs, s.sums, s.recent = map[string]outcome{}, map[string][]localFile{}, map[localFile]string{}, ""
}

// load reads the state file if it exists. If restart is set, it ignores a corrupt file.
func (s *state) load(restart bool) error {
	err := s.read()
	if !restart {
		return err
	}
	before := s.done
	s.clear()
	if err != nil {
		return nil
	}
	for path, o := range before {
		if o.Made {
			s.done[path] = o.forgotten()
		}
	}
	return nil
}

// forgotten returns the part of o that --restart keeps.
func (o outcome) forgotten() outcome {
	return outcome{localFile: localFile{Path: o.Path}, Document: o.Document, Made: o.Made, Outcome: outcomeForgotten, Error: "forgotten by --restart"}
}

func (s *state) read() error {
	s.clear()
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the state file: %w", err)
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil // ignore an incomplete last line: its write was interrupted
		}
		if err != nil {
			return fmt.Errorf("read the state file: %w", err)
		}
		var l stateLine
		if err := json.Unmarshal(text, &l); err != nil || n == 1 && l.Import == nil {
			return fmt.Errorf("read the state file %s: line %d is not a valid record: pass another path as --state, or pass --restart", s.path, n)
		}
		if l.Import != nil && *l.Import != s.key {
			return fmt.Errorf("%s is the state file of another import, of %s into %s at %s: pass another path as --state, or pass --restart",
				s.path, l.Import.Dir, l.Import.Folder, l.Import.Server)
		}
		s.apply(l)
	}
}

func (s *state) apply(l stateLine) {
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
		case o.Error != "" && ok && o.Outcome != outcomeForgotten: // a failure leaves the document, and so its record, as it was
			before.localFile, before.Error = o.localFile, o.Error
			s.done[o.Path] = before
		default:
			s.done[o.Path] = o
		}
		delete(s.sums, o.localFile)
	}
}

// rewrite atomically replaces the state file with one that has only current records,
// and opens the new file for appending.
func (s *state) rewrite() (err error) {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	err = lines.Encode(stateLine{Import: &s.key})
	byPath := func(a, b outcome) int { return cmp.Compare(a.Path, b.Path) }
	for chunk := range slices.Chunk(slices.SortedFunc(maps.Values(s.done), byPath), 100) {
		err = errors.Join(err, lines.Encode(stateLine{Job: s.recent, Done: chunk}))
	}
	for id, sent := range s.jobs {
		sums := make([]string, len(sent))
		for i, f := range sent {
			sums[i] = s.sums[f]
		}
		err = errors.Join(err, lines.Encode(stateLine{Job: id, Sent: sent, Sums: sums}))
	}
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+".*")
	if err != nil {
		return fmt.Errorf("write the state file: %w", err)
	}
	_, err = f.Write(text.Bytes())
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return fmt.Errorf("write the state file: %w", errors.Join(err, f.Close(), os.Remove(f.Name())))
	}
	s.out = f
	return nil
}

// sent records that a job with the given files has started, with the SHA-256 of each
// file.
func (s *state) sent(job string, files []localFile, sums []string) error {
	return s.append(stateLine{Job: job, Sent: files, Sums: sums})
}

// ended records outcomes. If job is not "", it also records that the job has ended; the
// outcomes are then those of all its files.
func (s *state) ended(job string, outcomes []outcome) error {
	return s.append(stateLine{Job: job, Done: outcomes})
}

// noted returns the record of a file. If the job of the file is still running, sent is
// the SHA-256 of the file as it was uploaded.
func (s *state) noted(f localFile) (o outcome, sent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[f.Path], s.sums[f]
}

// finished reports whether a file was imported and has not changed since then.
func (s *state) finished(f localFile) bool {
	o, ok := s.done[f.Path]
	return ok && o.Error == "" && o.localFile == f
}

// restart removes the record of one file. In a dry run it removes it only in memory.
func (s *state) restart(name string) error {
	o, ok := s.done[name]
	if !ok {
		return nil
	}
	l := stateLine{Done: []outcome{o.forgotten()}}
	if s.out == nil {
		s.apply(l)
		return nil
	}
	return s.append(l)
}

func (s *state) append(l stateLine) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.out.Write(append(text, '\n'))
	if err == nil {
		err = s.out.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the state file: %w", err)
	}
	s.apply(l)
	return nil
}
