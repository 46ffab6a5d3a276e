package upload

import (
	"bytes"
	"errors"
	"mime/multipart"
	"strings"
	"testing"
)

// formOf returns the form that a browser sends with these fields, names and values in turn. A field
// files has the text of a file with the name a.md.
func formOf(t testing.TB, fields ...string) (*Form, *bytes.Buffer) {
	t.Helper()
	var sent, upload bytes.Buffer
	w := multipart.NewWriter(&sent)
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] != "files" {
			if err := w.WriteField(fields[i], fields[i+1]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		part, err := w.CreateFormFile("files", "a.md")
		if err == nil {
			_, err = part.Write([]byte(fields[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return New(multipart.NewReader(&sent, w.Boundary()), multipart.NewWriter(&upload)), &upload
}

// The key is the first field, if there is one; what comes instead is not lost.
func TestKey(t *testing.T) {
	inbox := func() (string, error) { return "Inbox", nil }
	for _, c := range []struct {
		fields []string
		key    string
		upload []string
	}{
		{[]string{"key", "k1", "folder", " Work ", "tags", "x, y", "files", "# A"}, "k1", []string{`{"folder_name":"Work","tags":["x","y"],"shown":true}`, "# A"}},
		{[]string{"folder", "Work", "files", "# A"}, "", []string{`"folder_name":"Work"`, "# A"}},
		{[]string{"files", "# A"}, "", []string{`"folder_name":""`, "# A"}},
	} {
		f, upload := formOf(t, c.fields...)
		key, err := f.Key()
		if err == nil {
			err = f.Run(inbox)
		}
		if key != c.key || err != nil || f.Files != 1 {
			t.Errorf("%q: key %q, %d files, %v", c.fields, key, f.Files, err)
		}
		for _, text := range c.upload {
			if !strings.Contains(upload.String(), text) {
				t.Errorf("%q: the upload lacks %s: %s", c.fields, text, upload)
			}
		}
	}
	f, _ := formOf(t)
	if key, err := f.Key(); key != "" || err != nil {
		t.Errorf("key of an empty form = %q, %v", key, err)
	}
	f, _ = formOf(t, "key", strings.Repeat("k", 17<<10))
	if _, err := f.Key(); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long key: %v, want %v", err, ErrTooLong)
	}
}
