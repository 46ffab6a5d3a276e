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

// generator writes bills of materials. It and what it needs are held by hashes in
// a module file of its own, so that nothing of it is needed to build the program.
const generator, tools = "cyclonedx-gomod", "cmd/release/tools.mod"

// release is what is made, and of what.
type release struct {
	source    string   // folder of the module
	main      string   // package of the program
	extra     []string // files of source that go into each archive
	version   string
	out       string
	platforms []platform
	bill      bool

	commit string    // of source; "" where that is no checkout
	time   time.Time // of the commit
	built  func()    // called when all is built; for tests
}

// make builds and packs everything.
func (r *release) make(ctx context.Context) error {
	if err := r.look(ctx); err != nil {
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
	again := *r
	if err := again.look(ctx); err != nil {
		return err
	}
	if again.commit != r.commit {
		return fmt.Errorf("the source was %q when the first platform was built and is %q now: the archives are of both; release it again, from a checkout of its own", r.commit, again.commit)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// look finds out which commit is released. What is not committed has no place in
// a release, so its commit is called changed.
func (r *release) look(ctx context.Context) error {
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
		fmt.Fprintln(os.Stderr, "release: not a checkout of git: the version will name no commit")
		return nil
	}
	var seconds int64
	if _, err := fmt.Sscan(shown, &r.commit, &seconds); err != nil {
		return fmt.Errorf("git log prints %q: %w", shown, err)
	}
	if os.Getenv("SOURCE_DATE_EPOCH") == "" {
		r.time = time.Unix(seconds, 0)
	}
	changed, err := r.command(ctx, nil, "git", "status", "--porcelain", "--untracked-files=no")
	if err == nil && changed != "" {
		r.commit += "-changed"
		fmt.Fprintln(os.Stderr, "release: some files are not committed")
	}
	return err
}

// makeFor returns the names of what it made for one platform.
func (r *release) makeFor(ctx context.Context, p platform, work string) ([]string, error) {
	program := filepath.Join(work, p.os+"-"+p.arch, p.program())
	env := []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off"}
	link := fmt.Sprintf("-s -w -buildid= -X main.release=%s -X main.commit=%s", r.version, r.commit)
	if _, err := r.command(ctx, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", link, "-o", program, r.main); err != nil {
		return nil, err
	}
	if p == host { // a name that the linker does not know is passed over in silence
		said, err := r.command(ctx, nil, program, "--version")
		if err != nil || !strings.Contains(said, r.version) || !strings.Contains(said, r.commit) {
			return nil, fmt.Errorf("the program says that it is %q (%v), want version %s of commit %s", said, err, r.version, r.commit)
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

// billOf returns the bill of materials of a program, read from the program itself.
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
		return nil, errors.New("the generator wrote no metadata")
	}
	metadata["timestamp"] = r.time.UTC().Format(time.RFC3339) // it writes when it ran
	delete(metadata, "tools")                                 // with digests of itself, which differ by machine
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(bill)
	return out.Bytes(), err
}

// command runs a program in the source's folder and returns what it prints.
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
