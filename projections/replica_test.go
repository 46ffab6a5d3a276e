package projections

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"annals/events"
	"annals/events/postgres"

	"github.com/google/uuid"
)

// copied is a read model with another in a database of its own, which stands for
// its replica: what that holds tells who answers.
type copied struct {
	testing.TB
	log          *events.Log
	folder       uuid.UUID
	tables, copy *generation
	behind       *Database // where the copy is
	r            *Runner
}

func withReplica(t testing.TB) *copied {
	t.Helper()
	c := &copied{TB: t, log: newLog(t), folder: uuid.New()}
	add(t, c.log, events.Folders, events.FolderCreated{Folder: c.folder, Name: "F"})
	behind, url := database(t)
	main, _ := database(t)
	var err error
	if main.Replica, err = postgres.Parse(url); err != nil {
		t.Fatal(err)
	}
	c.behind, c.copy, c.tables = behind, openIn(t, behind, c.log, Vault{}), openIn(t, main, c.log, Vault{})
	c.r = c.tables.serve()
	c.step(c.tables, c.copy)
	return c
}

func (c *copied) step(all ...*generation) {
	c.Helper()
	for _, g := range all {
		if _, err := g.step(c.Context()); err != nil {
			c.Fatal(err)
		}
	}
}

// exec changes the copy alone.
func (c *copied) exec(statement string) {
	c.Helper()
	if err := c.copy.store.Exec(c.Context(), statement); err != nil {
		c.Fatal(err)
	}
}

// wake lets the replica be asked however it answered before.
func (c *copied) wake() {
	r := c.tables.store.(*postgresStore).replica
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rests, r.behind = time.Time{}, 0
}

// want checks what the folders are called by all ways of asking.
func (c *copied) want(names ...string) {
	c.Helper()
	c.wake()
	// Columns may be called as those by which the replica is judged.
	got, err := Column(c.Context(), c.r.DB(), `SELECT name AS position FROM folders WHERE length(name) > CAST($1 AS INTEGER) ORDER BY name`, 0)
	if err != nil || !slices.Equal(got, names) {
		c.Errorf("the folders are called %q (%v), want %q", got, err, names)
	}
	c.wake()
	var one string
	switch err := c.r.DB().QueryRowContext(c.Context(), `SELECT name FROM folders ORDER BY name`).Scan(&one); {
	case len(names) == 0 && !errors.Is(err, sql.ErrNoRows):
		c.Errorf("the first folder of none is called %q (%v)", one, err)
	case len(names) > 0 && (err != nil || one != names[0]):
		c.Errorf("the first folder is called %q (%v), want %q", one, err, names[0])
	}
}

func TestAReplicaAnswersWhereItIsJustWhereTheTablesAre(t *testing.T) {
	t.Parallel()
	c := withReplica(t)
	c.exec(`UPDATE folders SET name = name || ' of the replica'`)
	c.want("F of the replica")

	add(t, c.log, events.Folders, events.FolderRenamed{Folder: c.folder, Name: "G"})
	c.step(c.tables)
	c.want("G")
	c.step(c.copy)
	c.exec(`UPDATE folders SET name = name || ' of the replica'`)
	c.want("G of the replica")

	// Another server behind the same name may lag though one did not before.
	c.exec(`UPDATE checkpoint SET position = position - 1`)
	c.want("G")
	c.exec(`UPDATE checkpoint SET position = position + 2`) // a server that went on by itself
	c.want("G")
	c.exec(`UPDATE checkpoint SET position = position - 1, seen_id = 'other'`) // one of another log
	c.want("G")
	c.exec(`UPDATE checkpoint SET seen_id = '` + seenID(t, c.tables) + `'`)
	c.want("G of the replica")
	c.exec(`INSERT INTO parked (position, stream, revision, reason) VALUES (1, '', 0, '')`) // what was parked is applied late
	c.want("G")
	c.exec(`DELETE FROM parked`)
	c.exec(`DELETE FROM folders`)
	c.want() // of no rows it tells where it is, too

	if err := c.behind.remove(t.Context(), "vault-1"); err != nil { // it fails from now on
		t.Fatal(err)
	}
	c.want("G")
}

func seenID(t *testing.T, g *generation) (id string) {
	t.Helper()
	if err := g.store.reads().QueryRowContext(t.Context(), `SELECT seen_id FROM checkpoint`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// A server may end a statement whose rows it has begun to give: what it replays
// was in the way.
func TestAReplicaThatFailsAmongItsRowsHidesNothing(t *testing.T) {
	t.Parallel()
	c := withReplica(t)
	c.exec(`INSERT INTO folders (id, parent, name, sort_name, created_at, updated_at, version, revision)
		SELECT 'folder ' || n, '', 'F' || n, '', '', '', 1, 0 FROM generate_series(1, 3000) n`)
	const failing = ` FROM folders WHERE 1 / (CASE WHEN name = 'F3000' THEN 0 ELSE 1 END) = 1`
	if got, err := Column(t.Context(), c.r.DB(), `SELECT name`+failing); err != nil || !slices.Equal(got, []string{"F"}) {
		t.Errorf("there are %d folders (%v), want that of the tables", len(got), err)
	}
	c.wake()
	var name string
	if err := c.r.DB().QueryRowContext(t.Context(), `SELECT name`+failing).Scan(&name); err != nil || name != "F" {
		t.Errorf("the folder is called %q (%v), want F", name, err)
	}
}

func TestAReplicaThatIsDamagedSaysNothingOfTheTables(t *testing.T) {
	t.Parallel()
	c := withReplica(t)
	for _, g := range []*generation{c.tables, c.copy} {
		err := g.store.Exec(t.Context(), `CREATE FUNCTION page_of(name TEXT) RETURNS TEXT LANGUAGE plpgsql AS
			$$ BEGIN IF name = 'F3000' THEN RAISE EXCEPTION 'invalid page' USING ERRCODE = 'data_corrupted'; END IF; RETURN name; END $$`)
		if err != nil {
			t.Fatal(err)
		}
	}
	c.exec(`INSERT INTO folders (id, parent, name, sort_name, created_at, updated_at, version, revision)
		SELECT 'folder ' || n, '', 'F' || n, '', '', '', 1, 0 FROM generate_series(1, 3000) n`)
	if got, err := Column(t.Context(), c.r.DB(), `SELECT page_of(name) FROM folders`); err != nil || !slices.Equal(got, []string{"F"}) {
		t.Errorf("there are %d folders (%v), want that of the tables", len(got), err)
	}
	select {
	case h := <-c.r.torn:
		t.Errorf("the read model is to be made anew: %v", h.err)
	default:
	}
}

func TestAReplicaThatHangsIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	c := withReplica(t)
	other := meddle(t, c.behind, "vault-1")
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), `LOCK TABLE folders`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 50 { // of which the first alone waits
		if got, err := Column(ctx, c.r.DB(), `SELECT name FROM folders`); err != nil || !slices.Equal(got, []string{"F"}) {
			t.Fatalf("the folders are called %q (%v), want F", got, err)
		}
	}
}

// What a replica costs a statement is one look at the tables.
func BenchmarkAskingAReplica(b *testing.B) {
	c := withReplica(b)
	c.exec(`UPDATE folders SET name = 'replica'`)
	for name, db := range map[string]*DB{"replica": c.r.DB(), "F": {r: c.r, original: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var got string
				if err := db.QueryRowContext(b.Context(), `SELECT name FROM folders WHERE id = $1`, c.folder.String()).Scan(&got); err != nil || got != name {
					b.Fatalf("the folder is called %q (%v), want %q", got, err, name)
				}
			}
		})
	}
}
