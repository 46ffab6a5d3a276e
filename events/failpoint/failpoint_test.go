package failpoint

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
)

func TestAllIsComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "failpoint.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []Point
	ast.Inspect(file, func(n ast.Node) bool {
		if c, ok := n.(*ast.ValueSpec); ok && c.Type != nil {
			if name, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value); err == nil {
				declared = append(declared, Point(name))
			}
		}
		return true
	})
	if !slices.Equal(All, declared) {
		t.Errorf("All: got %q, want the declared points %q", All, declared)
	}
	slices.Sort(declared)
	if n := len(slices.Compact(declared)); n != len(All) {
		t.Errorf("got %d different names for %d points", n, len(All))
	}
}

// The tests start their own binary with Variable set, as the process to kill.
func TestMain(m *testing.M) {
	if os.Getenv(Variable) == "" {
		os.Exit(m.Run())
	}
	Here(LogCreated)
	Here(LogPrepared)
	Here(LogCreated)
}

func TestHereKillsProcess(t *testing.T) {
	for setting, kills := range map[string]bool{"log-created:1": true, "log-created:2": true, "log-created:3": false, "key-created:1": false} {
		p := exec.CommandContext(t.Context(), os.Args[0])
		p.Env = append(os.Environ(), Variable+"="+setting)
		err := p.Run()
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.ExitCode() < 0
		if want := kills && Enabled; killed != want || err != nil && !killed {
			t.Errorf("%s=%s: the process exited with %v, killed %t, want killed %t", Variable, setting, err, killed, want)
		}
	}
}
