package control

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
)

// Generation 1 has stopped on nodes of another program version, and generation 2 on nodes
// of this one. Activating generation 3 must mark it as stopped, too, and must keep the
// mark of generation 1.
func TestActivateKeepsStopMark(t *testing.T) {
	database, err := sqldb.ParsePostgres(postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	store := opened(t, func() (*Store, error) { return OpenShared(t.Context(), database) })
	next := Generation{Projection: "vault", Number: 3, Version: 1, State: Ready}
	err = errors.Join(
		store.Replace(t.Context(), "vault", 1, 2),
		store.MarkStopped(t.Context(), "vault", 1), store.MarkStopped(t.Context(), "vault", 2), store.Save(t.Context(), next))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Activate(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	all, err := store.AllActive(t.Context())
	if p := all["vault"]; err != nil || p.Generation != 3 || !p.Stopped {
		t.Errorf("generation %d is active, stopped: %t (%v), want 3, stopped until it has applied events", p.Generation, p.Stopped, err)
	}
	if stopped, err := store.IsStopped(t.Context(), "vault", 1); !stopped || err != nil {
		t.Errorf("IsStopped of the first generation = false, %v, want true for nodes of the other version", err)
	}
}

// If the store is unreachable for less than the lease time, the function that runs under
// the lease must not be canceled.
func TestLeaseSurvivesShortOutage(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	database, err := sqldb.ParsePostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	control := opened(t, func() (*Store, error) { return OpenShared(t.Context(), database) })
	server, err := sqldb.ParsePostgres(os.Getenv(postgrestest.Variable))
	if err != nil {
		t.Fatal(err)
	}
	db := server.Open("", 1, nil)
	defer db.Close()
	name := url[strings.LastIndex(url, "/")+1:]
	name, _, _ = strings.Cut(name, "?")
	interrupt := func(ctx context.Context) error {
		for _, allowed := range []string{"false", "true"} {
			if _, err := db.ExecContext(ctx, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS "+allowed); err != nil {
				return err
			}
			if _, err := db.ExecContext(ctx, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1`, name); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(rebuildLease / 3):
			}
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		begun := time.Now()
		err = control.Alone(ctx, "test", interrupt)
		if err == nil || time.Since(begun) < rebuildLease {
			break
		}
		if ctx.Err() != nil {
			t.Skip("no outage was short within a minute on this busy machine")
		}
		t.Logf("the outage took %v on this busy machine, longer than the lease: trying again", time.Since(begun))
		if _, err := db.ExecContext(t.Context(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true"); err != nil {
			t.Fatal(err)
		}
	}
	if err != nil {
		t.Error(err)
	}
}
