package process

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"testing"
	"time"
)

// TestMain runs the tests or, if a Pool started the test binary as a process, handles
// requests that make the process misbehave.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "probe" {
		os.Exit(m.Run())
	}
	flags := flag.NewFlagSet("probe", flag.ExitOnError)
	memory := flags.Int64("memory", 0, "")
	flags.Parse(os.Args[2:])
	err := Serve(*memory, func() (int64, error) { return 0, nil }, func(s *Server, f Frame) error {
		answer := string(f.Payload)
		switch f.Kind {
		case kindSwell:
			swell()
		case kindSpin:
			for n := 0; ; n++ {
			}
		case kindIgnore:
			signal.Ignore(xcpu)
			for n := 0; ; n++ {
			}
		case kindPanic:
			panic("as requested")
		case kindHang:
			time.Sleep(time.Hour)
		case kindFile:
			file, err := s.File(answer)
			if err != nil {
				return err
			}
			b, err := io.ReadAll(file)
			if err != nil {
				return err
			}
			answer = string(b)
		case kindProbe:
			answer = probe(answer)
		}
		return s.Send(kindAnswer, []byte(answer), nil)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	kindAnswer Kind = Ready + 1 + iota
	kindProbe
	kindSwell
	kindSpin
	kindIgnore // uses CPU time without end, and ignores the signal at the CPU limit
	kindPanic
	kindHang
	kindFile
)

// swell allocates memory without end.
func swell() {
	var kept [][]byte
	for {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		kept = append(kept, b)
		runtime.KeepAlive(kept)
	}
}
