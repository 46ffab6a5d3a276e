package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/s3"
	"annals/events/s3/s3test"
)

func put(t *testing.T, b *s3.Bucket, name string, content []byte) {
	t.Helper()
	if err := b.Put(t.Context(), name, bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatalf("Put(%s): %v", name, err)
	}
}

func get(t *testing.T, b *s3.Bucket, name string) ([]byte, error) {
	t.Helper()
	o, err := b.Open(t.Context(), name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(o)
	return content, errors.Join(err, o.Close())
}

func TestPutOpen(t *testing.T) {
	t.Parallel()
	b := s3test.Open(t, s3test.URL(t))
	parts := bytes.Repeat([]byte("several parts, "), 1<<20) // 15 MiB
	for name, content := range map[string][]byte{"empty": {}, "small": []byte("lamp"), "in/a folder/ä+b %2F": []byte("oil"), "large": parts} {
		put(t, b, name, content)
		if got, err := get(t, b, name); err != nil || !bytes.Equal(got, content) {
			t.Errorf("Open(%s): got %d bytes (%v), want %d", name, len(got), err, len(content))
		}
		if info, err := b.Stat(t.Context(), name); err != nil || info.Size != int64(len(content)) {
			t.Errorf("Stat(%s): got %+v, %v, want size %d", name, info, err, len(content))
		}
	}
	o, err := b.Open(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, at := range []int64{o.Size() - 5, 7 << 20, 0} {
		got := make([]byte, 5)
		_, err := o.Seek(at, io.SeekStart)
		if _, errRead := io.ReadFull(o, got); errors.Join(err, errRead) != nil || !bytes.Equal(got, parts[at:at+5]) {
			t.Errorf("Read at %d: got %q (%v, %v), want %q", at, got, err, errRead, parts[at:at+5])
		}
	}
}

func TestListIsCompleteAndSorted(t *testing.T) {
	t.Parallel()
	b := s3test.Open(t, s3test.URL(t))
	var want []string
	for n := range 1203 { // more than one page of a listing
		want = append(want, fmt.Sprintf("many/%04d", n))
		put(t, b, want[n], nil)
	}
	put(t, b, "one", nil)
	put(t, b, "many/deep/er", nil)
	names := func(folder string, deep bool) (all []string) {
		for o, err := range b.List(t.Context(), folder, deep) {
			if err != nil {
				t.Fatalf("List: %v", err)
			}
			all = append(all, o.Name)
		}
		return all
	}
	if got := names("many", false); !slices.Equal(got, want) {
		t.Errorf("List of a folder: got %d names, want %d in order", len(got), len(want))
	}
	if got, want := names("", true), append(want, "many/deep/er", "one"); !slices.Equal(got, want) {
		t.Errorf("deep List: got %d names, want %d in order", len(got), len(want))
	}
	if got := names("", false); !slices.Equal(got, []string{"one"}) {
		t.Errorf("List: got %q, want one", got)
	}
	if got := names("man", true); got != nil {
		t.Errorf("List of a missing folder: got %q, want none", got)
	}
	for range 2 {
		if err := b.Remove(t.Context(), "one"); err != nil {
			t.Errorf("Remove: %v", err)
		}
	}
	if _, err := b.Stat(t.Context(), "one"); !fault.Is(err, fault.NotFound) {
		t.Errorf("Stat of a removed object: got error %v, want kind NotFound", err)
	}
}

func TestPutIfChecksETag(t *testing.T) {
	t.Parallel()
	b := s3test.Open(t, s3test.URL(t))
	first, err := b.PutIf(t.Context(), "lock", []byte("mine"), "")
	if err != nil {
		t.Fatalf("PutIf of a new object: %v", err)
	}
	if _, err := b.PutIf(t.Context(), "lock", []byte("yours"), ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("PutIf of an existing object without ETag: got error %v, want a conflict", err)
	}
	if _, err := b.PutIf(t.Context(), "lock", []byte("mine still"), first); err != nil {
		t.Errorf("PutIf with the current ETag: %v", err)
	}
	if _, err := b.PutIf(t.Context(), "lock", []byte("yours"), first); !fault.Is(err, fault.Conflict) {
		t.Errorf("PutIf with an old ETag: got error %v, want a conflict", err)
	}
	content, info, date, err := b.Load(t.Context(), "lock", 100)
	if err != nil || string(content) != "mine still" || date.Sub(info.Modified).Abs() > time.Hour {
		t.Errorf("Load: got %q, %+v at %v, %v, want %q", content, info, date, err, "mine still")
	}
	if _, _, _, err := b.Load(t.Context(), "lock", 9); !fault.Is(err, fault.TooLarge) {
		t.Errorf("Load over the limit: got error %v, want kind TooLarge", err)
	}
}

func TestOpenErrorsOmitSecrets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3://AKIA:secret@bucket/p":                  "AWS_SECRET_ACCESS_KEY",
		"s3://AKIA:sec%zzret@bucket/p":               "cannot be parsed",
		"s3:///p":                                    "bucket",
		"s3://bucket/a//b":                           "prefix",
		"s3://bucket/../b":                           "prefix",
		"s3://bucket/p?secret=1":                     `"secret"`,
		"s3://bucket/p?endpoint=host:9000":           "endpoint",
		"s3://bucket/p?endpoint=https://a:secret@b/": "endpoint",
	} {
		_, err := s3.Open(t.Context(), text)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sec%zzret") || strings.Contains(err.Error(), ":secret") {
			t.Errorf("Open(%q): got error %v, want one about %s, without the secret", text, err, want)
		}
	}
}

func TestMissingCredentialsError(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	_, err := s3.Open(t.Context(), "s3://bucket/p?endpoint=http://127.0.0.1:1")
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("Open without credentials: got error %v, want kind Invalid", err)
	}
}
