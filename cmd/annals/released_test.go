package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// releasedCall is a request, and the reply that a released version gave to it.
type releasedCall struct {
	User, Method, Path string
	Body, Reply        any
	Status             int
}

// TestServesReleasedData serves data folders and restores backups that earlier versions
// wrote. Replies must be equal to those that the earlier version gave, except for new fields. Each archive in
// testdata/released has the commit of its version as its name.
func TestServesReleasedData(t *testing.T) {
	archives, err := filepath.Glob("testdata/released/*.tar.gz")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no released data: %v", err)
	}
	for _, archive := range archives {
		version := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		t.Run(version+"/data folder", func(t *testing.T) {
			dir := t.TempDir()
			calls := unpackReleased(t, archive, dir)
			wantReleasedReplies(t, dir, calls)
		})
		t.Run(version+"/backup", func(t *testing.T) {
			dir, restored := t.TempDir(), t.TempDir()
			calls := unpackReleased(t, archive, dir)
			data := filepath.Join(restored, "annals-data")
			if err := run(t.Context(), []string{"restore", filepath.Join(dir, "backup"), "--data", data}, strings.NewReader(""), io.Discard, io.Discard); err != nil {
				t.Fatal(err)
			}
			wantReleasedReplies(t, restored, calls)
		})
	}
}

// unpackReleased unpacks an archive: the data folder to dir/annals-data and the backup
// to dir/backup. It returns the recorded requests and replies.
func unpackReleased(t *testing.T, archive, dir string) (calls []releasedCall) {
	t.Helper()
	packed, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			if len(calls) == 0 {
				t.Fatalf("%s has no recorded calls", archive)
			}
			return calls
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Name == "replies.json" {
			if err := json.NewDecoder(files).Decode(&calls); err != nil {
				t.Fatal(err)
			}
			continue
		}
		path := filepath.Join(dir, strings.Replace(header.Name, "data/", "annals-data/", 1))
		content, err := io.ReadAll(files)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func wantReleasedReplies(t *testing.T, dir string, calls []releasedCall) {
	t.Helper()
	server, err := startServer(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.end(os.Kill) })
	if err := server.awaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, tokens := filepath.Join(dir, "annals-data"), map[string]string{}
	for _, c := range calls {
		if tokens[c.User] == "" {
			if tokens[c.User], err = issueToken(data, c.User); err != nil {
				t.Fatal(err)
			}
		}
		body := ""
		if c.Body != nil {
			encoded, err := json.Marshal(c.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = string(encoded)
		}
		status, reply, err := server.request(tokens[c.User], c.Method, c.Path, body)
		if err != nil {
			t.Fatal(err)
		}
		got := comparable(c.Path, bytes.ReplaceAll(reply, []byte(server.base), nil))
		same := reflect.DeepEqual(withoutNew(got, c.Reply), c.Reply)
		if c.Path == "/core/ask" {
			same = same || sameAnswer(got, c.Reply)
		}
		if status != c.Status || !same {
			t.Errorf("%s %s %s %s: %d %v, want %d %v", c.User, c.Method, c.Path, body, status, got, c.Status, c.Reply)
		}
	}
	if out, err := verified(t, data); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
}

// withoutNew returns a reply without the fields that the reply of the earlier version did not
// have, because replies may get new fields.
func withoutNew(reply, earlier any) any {
	switch was := earlier.(type) {
	case map[string]any:
		if is, ok := reply.(map[string]any); ok {
			kept := map[string]any{}
			for name, value := range is {
				if old, ok := was[name]; ok {
					kept[name] = withoutNew(value, old)
				}
			}
			return kept
		}
	case []any:
		if is, ok := reply.([]any); ok && len(is) == len(was) {
			kept := make([]any, len(is))
			for i, value := range is {
				kept[i] = withoutNew(value, was[i])
			}
			return kept
		}
	}
	return reply
}

// sameAnswer reports whether one of two replies to a question has the answer of the other in it:
// a later version may quote more or less of a sentence.
func sameAnswer(a, b any) bool {
	text := func(reply any) string {
		fields, _ := reply.(map[string]any)
		answer, _ := fields["answer"].(string)
		return answer
	}
	return text(a) != "" && text(b) != "" && (strings.Contains(text(a), text(b)) || strings.Contains(text(b), text(a)))
}

// comparable returns the part of a reply that must be equal in every version. Scores,
// order and confidence may change with the ranking, and the audit trail describes the
// end of a job in other words than the recorded replies.
func comparable(path string, reply []byte) any {
	reply = bytes.ReplaceAll(reply, []byte("finished an upload: "), []byte("had an upload worked off: "))
	var value map[string]any
	switch err := json.Unmarshal(reply, &value); {
	case path == "/core/search":
		found := []any{}
		sources, _ := value["sources"].([]any)
		for _, source := range sources {
			s, _ := source.(map[string]any)
			found = append(found, []any{s["doc_id"], s["text"]})
		}
		slices.SortFunc(found, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return map[string]any{"found": found}
	case path == "/core/ask":
		return map[string]any{"answer": value["answer"]}
	case err == nil:
		return value
	}
	var list []any
	if json.Unmarshal(reply, &list) == nil {
		return list
	}
	return map[string]any{"sha256": fmt.Sprintf("%x", sha256.Sum256(reply))}
}
