package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// generator is the program that writes bills of materials. tools is a separate module
// file for the generator and its dependencies, so that the go.mod of annals does not
// list them.
const generator, tools = "cyclonedx-gomod", "cmd/release/tools.mod"

// release has the settings and the state of a release.
type release struct {
	source    string   // folder of the module to build
	main      string   // package of the program to build
	extra     []string // other files of source to put into each archive
	version   string
	out       string
	platforms []platform
	bill      bool

	commit string    // commit of source; "" if source is not a git checkout
	time   time.Time // time of the commit
	built  func()    // called by tests after all platforms are built
}

// make builds the program for all platforms and writes the archives.
func (r *release) make(ctx context.Context) error {
	if err := r.readCommit(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "annals-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var sums strings.Builder
	for _, p := range r.platforms {
		made, err := r.makeFor(ctx, p, work)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		for _, name := range made {
			content, err := os.ReadFile(filepath.Join(r.out, name))
			if err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
			fmt.Printf("%s  %d bytes\n", filepath.Join(r.out, name), len(content))
		}
	}
	if r.built != nil {
		r.built()
	}
	after := *r
	if err := after.readCommit(ctx); err != nil {
		return err
	}
	if after.commit != r.commit {
		return fmt.Errorf("the commit changed from %q to %q during the build, so the archives may be of either: repeat the release, in a checkout that nobody changes", r.commit, after.commit)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// readCommit sets the commit and its time. If there are uncommitted changes, the commit
// ends in -changed.
func (r *release) readCommit(ctx context.Context) error {
	r.commit, r.time = "", time.Unix(0, 0)
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		r.time = time.Unix(seconds, 0)
	}
	shown, err := r.command(ctx, nil, "git", "log", "-1", "--format=%h %ct", "--abbrev=12")
	if err != nil {
		fmt.Fprintln(os.Stderr, "release: warning: this is not a git checkout, so the version will not contain a commit")
		return nil
	}
	var seconds int64
	if _, err := fmt.Sscan(shown, &r.commit, &seconds); err != nil {
		return fmt.Errorf("parse the output %q of git log: %w", shown, err)
	}
	if os.Getenv("SOURCE_DATE_EPOCH") == "" {
		r.time = time.Unix(seconds, 0)
	}
	changed, err := r.command(ctx, nil, "git", "status", "--porcelain", "--untracked-files=no")
	if err == nil && changed != "" {
		r.commit += "-changed"
		fmt.Fprintln(os.Stderr, "release: warning: the checkout has uncommitted changes")
	}
	return err
}

// makeFor builds the program for one platform, writes the archive, and returns the
// names of the written files.
func (r *release) makeFor(ctx context.Context, p platform, work string) ([]string, error) {
	program := filepath.Join(work, p.os+"-"+p.arch, p.program())
	env := []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off"}
	link := fmt.Sprintf("-s -w -buildid= -X main.release=%s -X main.commit=%s", r.version, r.commit)
	if _, err := r.command(ctx, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", link, "-o", program, r.main); err != nil {
		return nil, err
	}
	if p == host { // the linker silently ignores -X for a variable that does not exist
		printed, err := r.command(ctx, nil, program, "--version")
		if err != nil || !strings.Contains(printed, r.version) || !strings.Contains(printed, r.commit) {
			return nil, fmt.Errorf("check the version of the program: it prints %q (%v), want version %s and commit %s", printed, err, r.version, r.commit)
		}
	}
	name := fmt.Sprintf("annals_%s_%s_%s", r.version, p.os, p.arch)
	files := []string{program}
	for _, f := range r.extra {
		files = append(files, filepath.Join(r.source, f))
	}
	pack, ending := tarGzip, ".tar.gz"
	if p.os == "windows" {
		pack, ending = zipped, ".zip"
	}
	archive, err := pack(name, files, r.time)
	if err != nil {
		return nil, err
	}
	made := []string{name + ending}
	if err := os.WriteFile(filepath.Join(r.out, name+ending), archive, 0o644); err != nil {
		return nil, err
	}
	if !r.bill {
		return made, nil
	}
	bill, err := r.billOf(ctx, program)
	if err != nil {
		return nil, fmt.Errorf("write the bill of materials: %w", err)
	}
	return append(made, name+".cdx.json"), os.WriteFile(filepath.Join(r.out, name+".cdx.json"), bill, 0o644)
}

// billOf returns the bill of materials of the binary program. The generator reads it
// from the binary.
func (r *release) billOf(ctx context.Context, program string) ([]byte, error) {
	file := program + ".cdx.json"
	if _, err := r.command(ctx, []string{"GOFLAGS=", "GOWORK=off"}, "go", "tool", "-modfile="+tools, generator, "bin", "-json", "-std", "-noserial", "-version", "v"+r.version, "-output", file, program); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var bill map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&bill); err != nil {
		return nil, err
	}
	metadata, ok := bill["metadata"].(map[string]any)
	if !ok {
		return nil, errors.New("the bill of materials has no metadata")
	}
	metadata["timestamp"] = r.time.UTC().Format(time.RFC3339) // the generator writes the current time
	delete(metadata, "tools")                                 // contains digests of the generator, which differ by machine
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(bill)
	return out.Bytes(), err
}

// command runs a program in the source folder and returns its output.
func (r *release) command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = r.source
	c.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args[:min(2, len(args))], " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}
