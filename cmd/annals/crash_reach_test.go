package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/sqlite"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

// starting starts a server, which is killed at the failpoint while it starts or soon
// after. Here and below, setting is that of boundary.reach.
func (b *boundaryTest) starting(setting string) {
	b.Helper()
	if b.serve(setting) {
		b.dead(setting)
	}
}

// loaded starts the clients if they are not running. It needs a server for that, which
// it kills afterwards.
func (b *boundaryTest) loaded() {
	b.Helper()
	if b.load == nil {
		b.serve("")
		b.load = b.newLoad()
		b.kill()
	}
}

// kill kills the server at a random moment, not at a failpoint.
func (b *boundaryTest) kill() {
	b.Helper()
	_ = b.server.end(os.Kill) // an error is expected, because the process was killed
	b.down.Lock()
}

// serving starts a server, which is killed at the failpoint while clients use it.
func (b *boundaryTest) serving(setting string) {
	b.Helper()
	b.loaded()
	b.starting(setting)
}

// importingMany is like serving, but one client also uploads very many files in one
// request.
func (b *boundaryTest) importingMany(setting string) {
	b.Helper()
	b.loaded()
	b.load.clients.Go(b.load.wide)
	b.starting(setting)
}

// importingLong is like serving, but one client also imports a file that takes long to
// read.
func (b *boundaryTest) importingLong(setting string) {
	b.Helper()
	b.loaded()
	b.load.clients.Go(b.load.long)
	b.starting(setting)
}

// ending shuts servers down while files wait to be imported, until one is killed at the
// failpoint.
func (b *boundaryTest) ending(setting string) {
	b.Helper()
	b.loaded()
	b.load.clients.Go(b.load.wide)
	for try := range 20 {
		if !b.serve(setting) {
			return
		}
		time.Sleep(time.Duration(try) * 20 * time.Millisecond) // the longer it serves, the more files wait
		if err := b.server.command.Process.Signal(os.Interrupt); err != nil {
			b.Fatal(err)
		}
		if err := b.ends(setting); err != nil {
			b.wantKilled(err, setting)
			return
		}
	}
	b.Fatalf("no server came to %s at its end", setting)
}

// signingIn runs annals token, which is killed at the failpoint while it issues the
// first token.
func (b *boundaryTest) signingIn(setting string) {
	b.Helper()
	b.serve("") // the server creates the first user when it starts
	b.kill()
	b.dying(setting, "token", "admin")
}

// dying runs a command, which must be killed at the failpoint.
func (b *boundaryTest) dying(setting string, args ...string) {
	b.Helper()
	p := b.program(args...)
	p.Env = append(p.Env, setting)
	b.wantKilled(p.Run(), setting)
}

// plant creates a file in the folder of originals that is older than all age limits, so
// that a server deletes it.
func (b *boundaryTest) plant(path ...string) {
	b.Helper()
	name := filepath.Join(append([]string{b.data, "originals"}, path...)...)
	old := time.Now().AddDate(0, 0, -3)
	err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("left"), 0o600), os.Chtimes(name, old, old))
	if err != nil {
		b.Fatal(err)
	}
}

// sweepingStaged is like starting, with an abandoned upload in the data folder.
func (b *boundaryTest) sweepingStaged(setting string) {
	b.Helper()
	b.plant("staging", "left")
	b.starting(setting)
}

// sweepingOriginals is like serving, with an original that no event refers to.
func (b *boundaryTest) sweepingOriginals(setting string) {
	b.Helper()
	b.plant("ab", "cd", "abcd"+strings.Repeat("0", 60))
	b.serving(setting)
}

// model returns the next read model to rebuild. Each call returns another one, because
// a killed rebuild leaves a lease, which delays the next rebuild of the same read
// model.
func (b *boundaryTest) model() string {
	names := readmodel.Names()
	b.renewed++
	return names[b.renewed%len(names)]
}

// rebuilding runs annals rebuild, which is killed at the failpoint, while a server
// runs.
func (b *boundaryTest) rebuilding(setting string) {
	b.Helper()
	b.loaded()
	b.serve("")
	b.dying(setting, "rebuild", b.model())
	b.kill()
}

// rebuildingAlone is like rebuilding, but without a server.
func (b *boundaryTest) rebuildingAlone(setting string) {
	b.Helper()
	b.loaded()
	b.dying(setting, "rebuild", b.model())
}

// compacting runs annals compact, which is killed at the failpoint while it removes the
// text of a failed import.
func (b *boundaryTest) compacting(setting string) {
	b.Helper()
	b.loaded()
	if err := b.leaveText(); err != nil {
		b.Fatal(err)
	}
	b.dying(setting, "compact")
}

// leaveText appends a text that no document refers to, as a failed import leaves it,
// and one more event, so that the text is not at the end of the log.
func (b *boundaryTest) leaveText() error {
	driver, err := sqlite.Open(b.Context(), filepath.Join(b.data, "log.db"))
	if err != nil {
		return err
	}
	log := events.NewLog(driver)
	defer log.Close()
	for after := events.Position(0); ; {
		batch, through, err := log.Read(b.Context(), after, 1000, events.TypeOf(events.JobFinished{}))
		if err == nil && through == after {
			err = errors.New("no job has ended")
		}
		if err != nil {
			return err
		}
		for _, e := range batch {
			for range 2 {
				cause := events.Cause{Via: "importer", Causation: e.Stream + "@0"}
				section := events.SectionExtracted{Text: strings.Repeat("A text that came to nothing. ", 2000)}
				if _, err := log.Append(b.Context(), events.TextStream(uuid.New(), 0), events.NoStream, cause, events.New{Data: section}); err != nil {
					return err
				}
			}
			return nil
		}
		after = through
	}
}

// discarding runs annals rebuild --discard, which is killed at the failpoint while it
// deletes the active generation.
func (b *boundaryTest) discarding(setting string) {
	b.Helper()
	b.loaded()
	b.dying(setting, "rebuild", "--discard", b.model())
}

// goingBack runs annals rebuild --back, which is killed at the failpoint while it rolls
// back to the previous generation.
func (b *boundaryTest) goingBack(setting string) {
	b.Helper()
	b.loaded()
	name := b.model()
	if out, err := b.program("rebuild", name).CombinedOutput(); err != nil {
		b.Fatalf("rebuild %s: %v\n%s", name, err, out)
	}
	b.dying(setting, "rebuild", "--back", name)
}

// takingOver starts a server, which is killed at the failpoint while it activates a
// generation that annals rebuild has filled.
func (b *boundaryTest) takingOver(setting string) {
	b.Helper()
	b.loaded()
	if !b.serve(setting) {
		return
	}
	name := b.model()
	for range 3 { // a generation is deleted at the second cut-over after the one that replaced it
		select {
		case <-b.server.drained:
		default:
			if out, err := b.program("rebuild", name).CombinedOutput(); err != nil {
				b.Errorf("rebuild %s before the server is killed: %v\n%s", name, err, out)
			}
		}
	}
	b.dead(setting)
}

// damage overwrites the database of the newest generation of a read model.
func (b *boundaryTest) damage(name string) {
	b.Helper()
	number := func(path string) int {
		_, text, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".db"), "-")
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	files, err := filepath.Glob(filepath.Join(b.data, "read-models", name+"-*.db"))
	if err != nil || len(files) == 0 {
		b.Fatalf("read models %v: %v", files, err)
	}
	newest := slices.MaxFunc(files, func(x, y string) int { return number(x) - number(y) })
	if err := os.WriteFile(newest, []byte("this is no database, and too long to pass for an empty one"), 0o600); err != nil {
		b.Fatal(err)
	}
}

// replacingDamaged starts a server, which finds a damaged read model and is killed at
// the failpoint while it rebuilds that.
func (b *boundaryTest) replacingDamaged(setting string) {
	b.Helper()
	b.loaded()
	name := b.model()
	if out, err := b.program("rebuild", name).CombinedOutput(); err != nil { // makes the newest generation the active one
		b.Fatalf("rebuild %s: %v\n%s", name, err, out)
	}
	b.damage(name)
	b.starting(setting)
}

// refusingDamaged damages a generation that annals rebuild has filled. It then starts a
// server, which cannot activate that generation and is killed at the failpoint.
func (b *boundaryTest) refusingDamaged(setting string) {
	b.Helper()
	b.loaded()
	name := b.model()
	b.dying(fmt.Sprintf("%s=%s:1", failpoint.Variable, failpoint.RebuildReady), "rebuild", name)
	b.damage(name)
	b.starting(setting)
}
