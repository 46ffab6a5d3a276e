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

// starting kills a server while it starts, or shortly after.
func (b *boundaryTest) starting(setting string) {
	b.Helper()
	if b.serve(setting) {
		b.dead(setting)
	}
}

// loaded starts the clients if they are not running.
func (b *boundaryTest) loaded() {
	b.Helper()
	if b.load == nil {
		b.serve("")
		b.load = b.newLoad()
		b.kill()
	}
}

// kill kills the server at no particular boundary.
func (b *boundaryTest) kill() {
	b.Helper()
	_ = b.server.end(os.Kill) // fails because it was killed
	b.down.Lock()
}

// serving kills a server while clients use it.
func (b *boundaryTest) serving(setting string) {
	b.Helper()
	b.loaded()
	b.starting(setting)
}

// importingMany is serving while a client imports very many files in one upload.
func (b *boundaryTest) importingMany(setting string) {
	b.Helper()
	b.loaded()
	b.load.clients.Go(b.load.wide)
	b.starting(setting)
}

// importingLong is serving while a client imports a file that takes long to read.
func (b *boundaryTest) importingLong(setting string) {
	b.Helper()
	b.loaded()
	b.load.clients.Go(b.load.long)
	b.starting(setting)
}

// ending kills a server while it shuts down with waiting files.
func (b *boundaryTest) ending(setting string) {
	b.Helper()
	b.loaded()
	b.load.clients.Go(b.load.wide)
	for range 20 {
		if !b.serve(setting) {
			return
		}
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

// signingIn kills a process that issues the first token.
func (b *boundaryTest) signingIn(setting string) {
	b.Helper()
	b.serve("") // creates the first user
	b.kill()
	b.dying(setting, "token", "admin")
}

// dying runs the program until it is killed.
func (b *boundaryTest) dying(setting string, args ...string) {
	b.Helper()
	p := b.program(args...)
	p.Env = append(p.Env, setting)
	b.wantKilled(p.Run(), setting)
}

// plant creates a file that is older than all age limits.
func (b *boundaryTest) plant(path ...string) {
	b.Helper()
	name := filepath.Join(append([]string{b.data, "originals"}, path...)...)
	old := time.Now().AddDate(0, 0, -3)
	err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("left"), 0o600), os.Chtimes(name, old, old))
	if err != nil {
		b.Fatal(err)
	}
}

// sweepingStaged is starting with an upload that was abandoned.
func (b *boundaryTest) sweepingStaged(setting string) {
	b.Helper()
	b.plant("staging", "left")
	b.starting(setting)
}

// sweepingOriginals is serving with an original that nothing refers to.
func (b *boundaryTest) sweepingOriginals(setting string) {
	b.Helper()
	b.plant("ab", "cd", "abcd"+strings.Repeat("0", 60))
	b.serving(setting)
}

// model returns another read model each time, because the lease of a process that was
// killed while rebuilding one delays its next rebuild.
func (b *boundaryTest) model() string {
	names := readmodel.Names()
	b.renewed++
	return names[b.renewed%len(names)]
}

// rebuilding kills a process that rebuilds a read model while a server runs.
func (b *boundaryTest) rebuilding(setting string) {
	b.Helper()
	b.loaded()
	b.serve("")
	b.dying(setting, "rebuild", b.model())
	b.kill()
}

// rebuildingAlone is rebuilding without a server.
func (b *boundaryTest) rebuildingAlone(setting string) {
	b.Helper()
	b.loaded()
	b.dying(setting, "rebuild", b.model())
}

// compacting kills a process that removes the text of a failed import.
func (b *boundaryTest) compacting(setting string) {
	b.Helper()
	b.loaded()
	if err := b.leaveText(); err != nil {
		b.Fatal(err)
	}
	b.dying(setting, "compact")
}

// leaveText appends a text that no document refers to, for a job that has ended, and
// another event, so that the text is not the end of the log.
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

// discarding kills a process that deletes the active generation.
func (b *boundaryTest) discarding(setting string) {
	b.Helper()
	b.loaded()
	b.dying(setting, "rebuild", "--discard", b.model())
}

// goingBack kills a process that rolls back to the previous generation.
func (b *boundaryTest) goingBack(setting string) {
	b.Helper()
	b.loaded()
	name := b.model()
	if out, err := b.program("rebuild", name).CombinedOutput(); err != nil {
		b.Fatalf("rebuild %s: %v\n%s", name, err, out)
	}
	b.dying(setting, "rebuild", "--back", name)
}

// takingOver kills a server while it activates a generation that another process has
// rebuilt.
func (b *boundaryTest) takingOver(setting string) {
	b.Helper()
	b.loaded()
	if !b.serve(setting) {
		return
	}
	name := b.model()
	for range 3 { // an active generation is kept after the next cut-over, and deleted after the one after that
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

// damage destroys the files of the newest generation of a read model.
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

// replacingDamaged kills a server that rebuilds a damaged read model when it starts.
func (b *boundaryTest) replacingDamaged(setting string) {
	b.Helper()
	b.loaded()
	name := b.model()
	if out, err := b.program("rebuild", name).CombinedOutput(); err != nil { // so that the newest generation is active
		b.Fatalf("rebuild %s: %v\n%s", name, err, out)
	}
	b.damage(name)
	b.starting(setting)
}

// refusingDamaged kills a server that cannot activate a generation which another
// process has rebuilt.
func (b *boundaryTest) refusingDamaged(setting string) {
	b.Helper()
	b.loaded()
	name := b.model()
	b.dying(fmt.Sprintf("%s=%s:1", failpoint.Variable, failpoint.RebuildReady), "rebuild", name)
	b.damage(name)
	b.starting(setting)
}
