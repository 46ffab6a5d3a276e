package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"annals/cmd/annals/client"
)

// benchServer is a running server with its own data folder.
type benchServer struct {
	*testing.B
	*serverProcess
	data string
	core *client.Core
}

// serveBench starts a server on a new data folder. If fill is not nil, it is called
// first, to write a log there.
func serveBench(b *testing.B, fill func(dataDir string), args ...string) *benchServer {
	b.Helper()
	s := &benchServer{B: b}
	dir := b.TempDir()
	s.data = filepath.Join(dir, "annals-data")
	if fill != nil {
		fill(s.data)
	}
	if address := os.Getenv("ANNALS_BENCH_PPROF"); address != "" {
		args = append(args, "--pprof", address)
	}
	var err error
	if s.serverProcess, err = startServer(dir, nil, append(args, "--log-level", "warn")...); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if s.command.ProcessState != nil {
			return // the server has already ended
		}
		if err := s.end(os.Interrupt); err != nil {
			b.Error(err)
		}
	})
	s.core = &client.Core{Client: client.Client{
		URL: s.base + "/core", HTTP: client.NewHTTPClient(4), Tries: 3, Pause: 10 * time.Millisecond, Notify: func(string) {},
		Credential: client.Credential{Token: client.IssuedTokens(func(context.Context) (string, time.Time, error) {
			token, err := issueToken(s.data, "admin")
			return token, time.Now().Add(time.Hour), err
		})},
	}}
	return s
}

// importFiles uploads the files of a directory, in consecutive requests of up to
// perRequest files. It returns the number of files, and fails if more than mayFail
// files are not imported.
func (s *benchServer) importFiles(dir, folder string, perRequest, mayFail int) (files int) {
	s.Helper()
	batches, err := uploads(dir, folder, perRequest)
	if err != nil {
		s.Fatal(err)
	}
	failed := 0
	for _, batch := range batches {
		files += len(batch)
		job := s.importBatch(batch)
		if failed += job.Failed; failed > mayFail {
			s.Fatalf("%s: %d files were not imported, such as %+v", folder, failed, firstFailure(job))
		}
	}
	return files
}

func firstFailure(job client.Job) (r client.FileResult) {
	if i := slices.IndexFunc(job.Results, func(r client.FileResult) bool { return !r.Success }); i >= 0 {
		r = job.Results[i]
	}
	return r
}

// importBatch uploads files in one request and waits until their job is done.
func (s *benchServer) importBatch(batch []client.File) client.Job {
	s.Helper()
	job, _, err := s.core.Upload(s.Context(), batch)
	for err == nil && !job.Done {
		select {
		case <-time.After(20 * time.Millisecond):
			job, err = s.core.Job(s.Context(), job.ID)
		case <-s.Context().Done():
			err = s.Context().Err()
		}
	}
	if err != nil {
		s.Fatalf("import into %s: %v", batch[0].Folder, err)
	}
	return job
}

// family returns the process ids of the server and all its descendants.
func (s *benchServer) family() []int {
	parents := make(map[int]int)
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if fields := processStat(pid); fields != nil {
				parents[pid], _ = strconv.Atoi(fields[1])
			}
		}
	}
	family := []int{s.command.Process.Pid}
	for i := 0; i < len(family); i++ {
		for pid, parent := range parents {
			if parent == family[i] {
				family = append(family, pid)
			}
		}
	}
	return family
}

// processStat returns the fields of /proc/PID/stat that follow the name of the process,
// or nil if the process does not exist.
func processStat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// cpu returns the CPU time of the server and its child processes.
func (s *benchServer) cpu() (sum time.Duration) {
	for _, pid := range s.family() {
		sum += cpuOf(pid)
	}
	return sum
}

// cpuOf returns the CPU time of a process and of its children that have ended.
func cpuOf(pid int) time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	var ticks time.Duration
	if fields := processStat(pid); len(fields) > 14 {
		for _, field := range fields[11:15] { // utime, stime, cutime and cstime of proc(5)
			n, _ := strconv.Atoi(field)
			ticks += time.Duration(n)
		}
	}
	return ticks * tick
}

// anonymous returns the anonymous memory of the server and of its child processes, in
// MB.
func (s *benchServer) anonymous() (server, children float64) {
	for i, pid := range s.family() {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, after, _ := strings.Cut(string(status), "RssAnon:")
		line, _, _ := strings.Cut(after, "kB")
		kilobytes, _ := strconv.ParseFloat(strings.TrimSpace(line), 64)
		if i == 0 {
			server = kilobytes / 1024
		} else {
			children += kilobytes / 1024
		}
	}
	return server, children
}

// watchMemory samples the memory until stop is called. stop returns two peaks in MB: of
// the memory of all processes together, and of the memory of the server alone.
func (s *benchServer) watchMemory() (stop func() (all, server float64)) {
	return peaks(200*time.Millisecond, s.anonymous)
}

// peaks calls sample periodically until stop is called. stop returns two peaks: of the
// sum of both samples, and of the sample of the server alone.
func peaks(every time.Duration, sample func() (server, children float64)) (stop func() (all, server float64)) {
	var all, alone float64
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			server, children := sample()
			all, alone = max(all, server+children), max(alone, server)
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return func() (float64, float64) {
		close(done)
		<-stopped
		return all, alone
	}
}

// awaitReady waits until the server is ready.
func (s *benchServer) awaitReady() {
	s.Helper()
	if err := s.serverProcess.awaitReady(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// addUser creates a user and returns a token for the user.
func (s *benchServer) addUser(name string) string {
	s.Helper()
	password := strings.NewReader("a long password of " + name + "\n")
	if err := run(s.Context(), []string{"user", "add", "--data", s.data, name}, password, io.Discard, io.Discard); err != nil {
		s.Fatal(err)
	}
	token, err := issueToken(s.data, name)
	if err != nil {
		s.Fatal(err)
	}
	return token
}

// benchCorpora returns the folder with the corpora, or skips the benchmark if there is
// none.
func benchCorpora(b *testing.B) string {
	b.Helper()
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if corpora := filepath.Join(dir, "shared", "corpora", "dev"); exists(corpora) {
			return corpora
		}
	}
	b.Skip("there is no folder shared/corpora/dev beside the project")
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[int(q*float64(len(d)-1))]
}
