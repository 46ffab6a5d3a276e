package ocr

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"annals/commands/importer/extract/process"
	"annals/commands/importer/extract/sandbox"
)

const (
	// A page is read a second time, turned or straightened, if its words have less than this
	// confidence, or if it has fewer letters.
	goodConfidence = 0.72
	fewLetters     = 24
	// clearSkew is the skew in degrees from which on a page is straightened before it is read.
	clearSkew = 2

	maxOutput = 16 << 20 // bytes of Tesseract's output that are read
)

// server runs Tesseract in a process that an Engine started.
type server struct {
	program     sandbox.Program
	data        string
	languages   string
	orientation bool
	conn        *process.Server

	picture *os.File      // of the present page, as a PGM file; nil if there is none
	time    time.Duration // limit of CPU time for the page
	used    time.Duration // CPU time of Tesseract for it
}

// Main runs in a process that an Engine started. It recognises pictures until the Engine closes
// the connection.
func Main(args []string) error {
	flags := flag.NewFlagSet("reader", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var s server
	memory := flags.Int64("memory", 0, "memory limit in bytes")
	flags.StringVar(&s.program.Path, "program", "", "path of Tesseract")
	flags.StringVar(&s.program.Loader, "loader", "", "path of its dynamic linker")
	flags.StringVar(&s.data, "data", "", "folder of its languages")
	flags.StringVar(&s.languages, "languages", "", "languages to recognise")
	flags.BoolVar(&s.orientation, "orientation", false, "the data to detect turned pages is installed")
	flags.Func("reads", "file that Tesseract may read", func(path string) error {
		s.program.Reads = append(s.program.Reads, path)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	return process.ServeProgram(*memory, &s.program, s.prepare, func(conn *process.Server, f process.Frame) error {
		s.conn = conn
		s.picture = nil
		req, err := decodeRequest(f.Payload, func() (_ io.ReaderAt, err error) {
			s.picture, err = conn.File("")
			return s.picture, err
		})
		if s.picture != nil {
			defer s.picture.Close()
		}
		if f.Kind != requestFrame || err != nil {
			return errors.New("read a request: unexpected frame")
		}
		result, err := s.recognise(req)
		var unread unreadable
		switch {
		case errors.As(err, &unread):
			return conn.Send(failedFrame, []byte(unread), nil)
		case err != nil:
			return err
		}
		used := new(process.Encoder).Int(int(s.used / time.Millisecond))
		return conn.Send(resultFrame, append(used.B, result.Encode()...), nil)
	})
}

// prepare starts the program once, before the sandbox is entered. Go then finds out how to wait
// for processes, with system calls that are denied later.
func (s *server) prepare() (int64, error) {
	p, err := os.StartProcess(s.program.Path, []string{s.program.Path, "--version"}, &os.ProcAttr{Env: environment(s.data), Files: []*os.File{nil, nil, nil}})
	if err != nil {
		return 0, err
	}
	_, err = p.Wait()
	return 0, err
}

// unreadable is the reason why a picture was not recognised; "" means that it took too long.
type unreadable string

func (u unreadable) Error() string { return string(u) }

// recognise recognises a picture. If the text is doubtful, it turns and straightens the picture,
// and returns what is more probable.
func (s *server) recognise(req request) (Result, error) {
	s.time, s.used = req.time, 0
	ctx, cancel := context.WithTimeout(context.Background(), patience*req.time)
	defer cancel()
	page, file := req.Picture, s.picture
	ink := inkOf(&page)
	if ink.empty() {
		return Result{Width: page.Width, Height: page.Height}, nil
	}
	if ink.dark {
		page, file = page.inverted(), nil
	}
	// Tesseract itself copes with a little skew, and with pages turned to the side.
	skew := ink.skew()
	if abs(skew) < clearSkew {
		skew = 0
	}
	first, err := s.read(ctx, page, file, 0, skew)
	if err != nil {
		return Result{}, err
	}
	first.straighten()
	confidence, letters := first.Confidence()
	if confidence >= goodConfidence && letters >= fewLetters || s.used > req.time/3 {
		return first, nil
	}
	// Errors do not matter any more: there is a result.
	turn := s.findTurn(ctx, page)
	if turn > 0 {
		page, file = page.turned(turn), nil
		ink = inkOf(&page)
	}
	again := ink.skew()
	if turn == 0 && again == skew {
		if again = 0; skew == 0 {
			return first, nil
		}
	}
	second, err := s.read(ctx, page, file, turn, again)
	if err != nil {
		return first, nil
	}
	if c, n := second.Confidence(); c*float32(n) <= confidence*float32(letters) {
		return first, nil
	}
	return second, nil
}

// read recognises a picture, which was turned before, after it has rotated it by skew degrees.
// file has the same picture, or is nil.
func (s *server) read(ctx context.Context, page Picture, file *os.File, turn int, skew float32) (Result, error) {
	if skew != 0 {
		page, file = page.rotated(skew), nil
	}
	out, err := s.run(ctx, page, file, "-l", s.languages, "--psm", "3", "-c", "tessedit_create_tsv=1")
	if err != nil {
		return Result{}, err
	}
	r := parseTSV(out, page.Width, page.Height)
	r.Turn, r.Skew = turn, skew
	return r, nil
}

// findTurn returns by how many quarter turns clockwise the page must be turned to be upright, or
// 0 if that is unknown.
func (s *server) findTurn(ctx context.Context, page Picture) int {
	if !s.orientation {
		return 0
	}
	out, err := s.run(ctx, page, nil, "-l", "osd", "--psm", "0", "-c", "min_characters_to_try=16")
	if err != nil {
		return 0 // such as too few characters
	}
	value := func(name string) float64 {
		_, rest, _ := strings.Cut(out, name+": ")
		line, _, _ := strings.Cut(rest, "\n")
		v, _ := strconv.ParseFloat(strings.TrimSpace(line), 64)
		return v
	}
	if value("Orientation confidence") < 1 {
		return 0
	}
	return int(value("Rotate")) / 90 % 4
}

// pictureName is the name of the first file that a program inherits.
const pictureName = "/proc/self/fd/3"

// run runs Tesseract with a picture as its input, and returns its output. If there is a file of
// the picture, the input is its name: Tesseract reads its input byte by byte, which takes a
// twentieth of its time for a picture.
func (s *server) run(ctx context.Context, page Picture, file *os.File, options ...string) (string, error) {
	args := []string{s.program.Path, "stdin", "stdout"}
	if page.DPI > 0 {
		args = append(args, "--dpi", strconv.Itoa(page.DPI))
	}
	in, input, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer input.Close()
	output, out, err := os.Pipe()
	if err != nil {
		in.Close()
		return "", err
	}
	defer output.Close()
	p, err := os.StartProcess(s.program.Path, append(args, options...), &os.ProcAttr{
		Env: environment(s.data), Files: []*os.File{in, out, os.Stderr, file}, Sys: dieWithParent(),
	})
	in.Close()
	out.Close()
	if err != nil {
		return "", fmt.Errorf("run Tesseract: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = p.Kill() })()
	if err := s.limit(p.Pid); err != nil {
		return "", errors.Join(err, p.Kill())
	}
	written := make(chan error, 1)
	go func() {
		text, pixels := page.header(), page.Pixels
		if file != nil {
			text, pixels = pictureName+"\n", nil
		}
		_, err := input.WriteString(text)
		if err == nil {
			_, err = input.Write(pixels)
		}
		written <- errors.Join(err, input.Close())
	}()
	text, readErr := io.ReadAll(io.LimitReader(output, maxOutput))
	output.Close() // ends a program that writes more
	state, err := p.Wait()
	if err == nil {
		s.used += state.UserTime() + state.SystemTime()
	}
	input.Close() // ends the goroutine if the program has not read everything
	writeErr := <-written
	switch {
	case ctx.Err() != nil:
		return "", unreadable("")
	case err != nil:
		return "", fmt.Errorf("wait for Tesseract: %w", err)
	case !state.Success() && s.used >= s.time: // the system has killed it
		return "", unreadable("")
	case !state.Success():
		return "", unreadable("Tesseract failed: " + state.String())
	case readErr != nil || writeErr != nil && !errors.Is(writeErr, os.ErrClosed):
		return "", unreadable("Tesseract did not read the picture, or its text was cut off")
	}
	return string(text), nil
}

// limit asks the Engine to limit the program, which has no input yet, and waits until that is done.
func (s *server) limit(pid int) error {
	if err := s.conn.Send(startedFrame, new(process.Encoder).Int(pid).B, nil); err != nil {
		return err
	}
	if f, ok := s.conn.Next(); !ok || f.Kind != limitedFrame {
		return errors.New("limit Tesseract: unexpected frame")
	}
	return nil
}
