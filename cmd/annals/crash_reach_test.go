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

// starting lets a server die at its start, or when it has hardly begun.
func (b *boundaryTest) starting(setting string) {
	b.Helper()
	if b.serve(setting) {
		b.dead(setting)
	}
}

// loaded sees to it that there are clients.
func (b *boundaryTest) loaded() {
	b.Helper()
	if b.load == nil {
		b.serve("")
		b.load = b.newLoad()
		b.kill()
	}
}

// kill ends the server at no boundary in particular.
func (b *boundaryTest) kill() {
	b.Helper()
	_ = b.server.end(os.Kill) // its error is that it was killed
	b.down.Lock()
}

// serving lets a server die while clients are at it.
func (b *boundaryTest) serving(setting string) {
	b.Helper()
	b.loaded()
	b.starting(setting)
}

// importingMany is serving while a client imports very many files at once.
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

// ending lets a server die that was asked to end while files wait.
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

// signingIn lets a process die that issues the first token.
func (b *boundaryTest) signingIn(setting string) {
	b.Helper()
	b.serve("") // there must be a user
	b.kill()
	b.dying(setting, "token", "admin")
}

// dying runs the program until it dies.
func (b *boundaryTest) dying(setting string, args ...string) {
	b.Helper()
	p := b.program(args...)
	p.Env = append(p.Env, setting)
	b.wantKilled(p.Run(), setting)
}

// plant leaves a file that is older than anybody waits for.
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

// model returns another read model each time: who rebuilds one is kept waiting
// by who died of it just before.
func (b *boundaryTest) model() string {
	names := readmodel.Names()
	b.renewed++
	return names[b.renewed%len(names)]
}

// rebuilding kills a process that rebuilds a read model beside a server.
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

// compacting lets a process die that removes a text which came to nothing.
func (b *boundaryTest) compacting(setting string) {
	b.Helper()
	b.loaded()
	if err := b.leaveText(); err != nil {
		b.Fatal(err)
	}
	b.dying(setting, "compact")
}

// leaveText appends a text that no document names, for a job that has ended, and
// another, which keeps it from being the last.
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

// discarding lets a process die that deletes what serves.
func (b *boundaryTest) discarding(setting string) {
	b.Helper()
	b.loaded()
	b.dying(setting, "rebuild", "--discard", b.model())
}

// goingBack lets a process die that goes back to what served before.
func (b *boundaryTest) goingBack(setting string) {
	b.Helper()
	b.loaded()
	name := b.model()
	if out, err := b.program("rebuild", name).CombinedOutput(); err != nil {
		b.Fatalf("rebuild %s: %v\n%s", name, err, out)
	}
	b.dying(setting, "rebuild", "--back", name)
}

// takingOver kills a server that activates what another process rebuilt.
func (b *boundaryTest) takingOver(setting string) {
	b.Helper()
	b.loaded()
	if !b.serve(setting) {
		return
	}
	name := b.model()
	for range 3 { // what serves is kept once, and deleted after that
		select {
		case <-b.server.drained:
		default:
			if out, err := b.program("rebuild", name).CombinedOutput(); err != nil {
				b.Errorf("rebuild %s, of which the server was to die: %v\n%s", name, err, out)
			}
		}
	}
	b.dead(setting)
}

// damage leaves nothing of the files of a read model's newest generation.
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

// replacingDamaged kills a server that rebuilds a damaged read model at its start.
func (b *boundaryTest) replacingDamaged(setting string) {
	b.Helper()
	b.loaded()
	name := b.model()
	if out, err := b.program("rebuild", name).CombinedOutput(); err != nil { // the newest serves then
		b.Fatalf("rebuild %s: %v\n%s", name, err, out)
	}
	b.damage(name)
	b.starting(setting)
}

// refusingDamaged lets a server die that cannot take up what another process
// made anew.
func (b *boundaryTest) refusingDamaged(setting string) {
	b.Helper()
	b.loaded()
	name := b.model()
	b.dying(fmt.Sprintf("%s=%s:1", failpoint.Variable, failpoint.RebuildReady), "rebuild", name)
	b.damage(name)
	b.starting(setting)
}
