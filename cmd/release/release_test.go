package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// made makes a release of a small program for this platform only. It returns the
// written files by name.
func made(t *testing.T, version string, bill bool) map[string][]byte {
	t.Helper()
	r := release{
		source: "../..", main: "./cmd/release/testdata/tiny", extra: []string{"LICENSE", "README.md"},
		version: version, out: t.TempDir(), platforms: []platform{host}, bill: bill,
	}
	if err := r.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	names, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if files[n.Name()], err = os.ReadFile(filepath.Join(r.out, n.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestReleaseIsWholeAndReproducible(t *testing.T) {
	if host.os == "windows" {
		t.Skip("the archive is unpacked as a tar")
	}
	files := made(t, "7.8.9", false)
	name := "annals_7.8.9_" + host.os + "_" + host.arch
	archive := files[name+".tar.gz"]
	if want := fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256(archive), name); string(files["SHA256SUMS"]) != want {
		t.Errorf("SHA256SUMS is %q, want %q", files["SHA256SUMS"], want)
	}

	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	dir := t.TempDir()
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), content, os.FileMode(h.Mode)); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{name + "/annals", name + "/LICENSE", name + "/README.md"}; !slices.Equal(names, want) {
		t.Errorf("the archive has %v, want %v", names, want)
	}
	said, err := exec.Command(filepath.Join(dir, "annals"), "--version").Output()
	if err != nil || !strings.HasPrefix(string(said), "annals version 7.8.9+") {
		t.Errorf("the program printed %q (%v)", said, err)
	}
	if again := made(t, "7.8.9", false); !bytes.Equal(again[name+".tar.gz"], archive) {
		t.Error("a second build of the same release has different bytes")
	}
}

func TestWindowsArchiveHoldsTheProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "annals.exe")
	if err := os.WriteFile(file, []byte("MZ"), 0o700); err != nil {
		t.Fatal(err)
	}
	packed, err := zipped("annals_1", []string{file}, (&release{}).time)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(r.File) != 1 || r.File[0].Name != "annals_1/annals.exe" {
		t.Errorf("the archive has %v (%v)", r.File, err)
	}
}

func TestBillOfMaterialsNamesTheModules(t *testing.T) {
	look := exec.Command("go", "tool", "-modfile="+tools, generator, "version")
	look.Dir, look.Env = "../..", append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
	if err := look.Run(); err != nil {
		t.Skipf("%s is not downloaded; make release does that", generator)
	}
	files := made(t, "7.8.9", true)
	var bill struct {
		BOMFormat string `json:"bomFormat"`
		Metadata  struct {
			Timestamp string
			Component struct{ Name, Version string }
		}
		Components []struct{ Name string }
	}
	if err := json.Unmarshal(files["annals_7.8.9_"+host.os+"_"+host.arch+".cdx.json"], &bill); err != nil {
		t.Fatal(err)
	}
	if bill.BOMFormat != "CycloneDX" || bill.Metadata.Component.Name != "annals" || bill.Metadata.Component.Version != "v7.8.9" || len(bill.Components) == 0 {
		t.Errorf("the bill of materials is %+v", bill)
	}
	if strings.Count(string(files["SHA256SUMS"]), "\n") != 2 {
		t.Errorf("SHA256SUMS is %q, want the archive and the bill", files["SHA256SUMS"])
	}
}

func TestReleaseRefusesWhatCannotBe(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"-version", "1_2"}, {"-version", "1", "-only", "plan9/amd64"}, {"-version", "1", "-out", full}} {
		if err := run(context.Background(), args); err == nil {
			t.Errorf("release %v succeeds", args)
		}
	}
}

// Building for all platforms takes minutes. If a commit is made meanwhile, the release must
// fail: otherwise some archives would contain the commit and others not.
func TestReleaseOfASourceThatChangesFails(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "one")
	r := release{source: dir, version: "1", out: t.TempDir()}
	if err := r.make(t.Context()); err != nil {
		t.Fatalf("release of an unchanged source: %v", err)
	}
	r.built = func() { git("commit", "-q", "--allow-empty", "-m", "two") }
	if err := r.make(t.Context()); err == nil || !strings.Contains(err.Error(), "archives may be of either") {
		t.Errorf("a commit in between: %v", err)
	}
}
