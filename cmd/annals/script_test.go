package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"
	"annals/events/sqldb/postgrestest"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestScripts(t *testing.T) {
	var database string // "" if there is no PostgreSQL server
	if os.Getenv(postgrestest.Variable) != "" {
		database = postgrestest.URL(t)
	}
	cluster := esdbtest.Start(t, memory.New())
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, ".config"))
			e.Setenv("POSTGRES", database)
			e.Setenv("ESDB", cluster.URL()+"&prefix="+uuid.NewString()+"-")
			s := new(scriptServer)
			e.Values[serverKey{}] = s
			e.Defer(func() { _ = s.end(os.Kill) })
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "postgres" {
				return database != "", nil
			}
			return false, fmt.Errorf("no condition is called %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":       serveInScript,
			"await-ready": readyInScript,
			"stop-server": stopInScript,
			"kill-server": killInScript,
			"request":     requestInScript,
			"sql":         sqlInScript,
		},
	})
}

type serverKey struct{}

// scriptServer is the server of a script.
type scriptServer struct{ *serverProcess }

func (s *scriptServer) end(sig os.Signal) error {
	if s.serverProcess == nil {
		return nil
	}
	p := s.serverProcess
	s.serverProcess = nil
	return p.end(sig)
}

// serveInScript implements the script command serve [flags]. It starts a server on a
// free port and prints its welcome. It sets $CORE to the URL of the service at /core
// and $LISTEN to the address of the server.
func serveInScript(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(serverKey{}).(*scriptServer)
	if neg || s.serverProcess != nil {
		ts.Fatalf("usage: serve [flags], once until stop")
	}
	dir := ts.MkAbs(".")
	p, err := startServer(dir, []string{"XDG_CACHE_HOME=" + ts.Getenv("XDG_CACHE_HOME")}, args...)
	ts.Check(err)
	s.serverProcess = p
	ts.Setenv("CORE", p.base+"/core")
	ts.Setenv("LISTEN", strings.TrimPrefix(p.base, "http://"))
	_, err = io.WriteString(ts.Stdout(), p.welcome)
	ts.Check(err)
}

// readyInScript implements the script command await-ready, which waits until the server
// is ready.
func readyInScript(ts *testscript.TestScript, _ bool, _ []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ts.Check(ts.Value(serverKey{}).(*scriptServer).awaitReady(ctx))
}

// stopInScript implements the script command stop-server, which stops the server with
// SIGTERM and waits until it has ended.
func stopInScript(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(ts.Value(serverKey{}).(*scriptServer).end(syscall.SIGTERM))
}

// killInScript implements the script command kill-server, which kills the server.
func killInScript(ts *testscript.TestScript, _ bool, _ []string) {
	_ = ts.Value(serverKey{}).(*scriptServer).end(os.Kill)
}

// requestInScript implements the script command request USER METHOD PATH [JSON], which
// prints the status and the body of the reply.
func requestInScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: request USER METHOD PATH [JSON]")
	}
	token, err := issueToken(ts.MkAbs("annals-data"), args[0])
	ts.Check(err)
	var body string
	if len(args) == 4 {
		body = args[3]
	}
	status, reply, err := ts.Value(serverKey{}).(*scriptServer).request(token, args[1], args[2], body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d %s\n", status, bytes.TrimSpace(reply))
}

// sqlInScript implements the script command sql FILE STATEMENTS, which changes a SQLite
// database.
func sqlInScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE STATEMENTS")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0])+"?_pragma=busy_timeout(10000)")
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}

// serverProcess is a server that runs in a separate process.
type serverProcess struct {
	command *exec.Cmd
	base    string // URL
	welcome string
	stderr  bytes.Buffer
	drained chan struct{}
}

// startServer starts a server on the folder annals-data in dir, and waits until it
// prints its address.
func startServer(dir string, env []string, args ...string) (*serverProcess, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &serverProcess{drained: make(chan struct{})}
	p.command = exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	p.command.Args[0] = "annals"
	p.command.Dir = dir
	p.command.Env = append(os.Environ(), append(env, "ANNALS_TEST_PROGRAM=1")...)
	p.command.Stderr = &p.stderr
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(time.Minute, func() { _ = p.command.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewReader(out)
	for !strings.HasSuffix(p.welcome, "/ask\n") { // the last line of the welcome
		line, err := lines.ReadString('\n')
		p.welcome += line
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "core" {
			p.base = strings.TrimSuffix(fields[1], "/core")
		}
		if err != nil {
			return nil, fmt.Errorf("serve ends: %w; %s", p.command.Wait(), p.stderr.String())
		}
	}
	go func() {
		defer close(p.drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return p, nil
}

// end sends a signal to the server, waits until it has ended, and returns the error of
// its exit status.
func (p *serverProcess) end(sig os.Signal) error {
	if err := p.command.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	late := time.AfterFunc(time.Minute, func() { _ = p.command.Process.Kill() })
	defer late.Stop()
	<-p.drained
	if err := p.command.Wait(); err != nil {
		return fmt.Errorf("serve: %w: %s", err, p.stderr.String())
	}
	return nil
}

// awaitReady waits until /readyz succeeds: every read model has then applied the events
// that were in the log when the server started.
func (p *serverProcess) awaitReady(ctx context.Context) error {
	for {
		status, reply, err := p.request("", http.MethodGet, "/readyz", "")
		if err == nil && status == http.StatusOK {
			return nil
		}
		if err != nil || status != http.StatusServiceUnavailable {
			return fmt.Errorf("GET /readyz: %d %s %v", status, reply, err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// request sends a request. body is JSON, or "" for none.
func (p *serverProcess) request(token, method, path, body string) (status int, reply []byte, err error) {
	status, reply, err = p.send(token, method, path, "application/json", body)
	// Servers on the same data have different ports. Replace the address, so that their
	// replies can be compared.
	return status, bytes.ReplaceAll(reply, []byte(`"url":"`+p.base+`/`), []byte(`"url":"http://annals.test/`)), err
}

func (p *serverProcess) send(token, method, path, mediaType, body string) (status int, reply []byte, err error) {
	r, err := http.NewRequest(method, p.base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	answer, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	reply, err = io.ReadAll(answer.Body)
	return answer.StatusCode, reply, err
}

// issueToken returns a token that annals token prints for a user.
func issueToken(dataDir, user string) (string, error) {
	var out bytes.Buffer
	if err := run(context.Background(), []string{"token", "--data", dataDir, user}, nil, &out, io.Discard); err != nil {
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}
