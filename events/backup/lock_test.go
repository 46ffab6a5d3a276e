package backup_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/s3/s3test"
)

// newServed returns a vault with a backup in a bucket, and the server of the bucket.
func newServed(t *testing.T) (*vault, *s3test.Server) {
	t.Helper()
	server := s3test.New(t)
	return newVault(t, &bucket{t, s3test.Open(t, server.URL)}), server
}

const leaseOfOther = `{"owner":"6f2a3c0e-2f0e-5b0b-9d0a-8c1d5a7e4b11","host":"elsewhere","process":7,"time":"2026-01-02T03:04:05Z"}`

// later returns a handler for Server.Intercept that sets the server's clock d forward.
func later(d time.Duration) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header().Set("Date", time.Now().Add(d).UTC().Format(http.TimeFormat))
		next.ServeHTTP(w, r)
	}
}

func isLock(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/backup.lock") }

func TestLeaseOfKilledHolderExpires(t *testing.T) {
	t.Parallel()
	v, server := newServed(t)
	v.file(v.folder, "lamp")
	v.mustBackUp()
	v.at.write("backup.lock", []byte(leaseOfOther))
	for _, after := range []time.Duration{0, time.Minute} {
		server.Intercept(later(after))
		if _, err := v.backup().Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), `process 7 on "elsewhere"`) {
			t.Errorf("Backup.Run %s later: got error %v, want a conflict", after, err)
		}
		if _, err := restore(t, v.at.location()); !fault.Is(err, fault.Conflict) {
			t.Errorf("Restore.Run %s later: got error %v, want a conflict", after, err)
		}
	}
	server.Intercept(later(3 * time.Minute))
	if _, err := restore(t, v.at.location()); err != nil {
		t.Errorf("Restore.Run 3m later: %v", err)
	}
	v.file(v.folder, "oil")
	v.mustBackUp()
	server.Intercept(nil)
	v.mustBackUp()
	v.wantBackedUp("lamp", "oil")
}

func TestBackupEndsWhenLeaseIsLost(t *testing.T) {
	t.Parallel()
	v, server := newServed(t)
	v.file(v.folder, "lamp")
	b, lost := v.backup(), false
	b.Progress = func(string, int64, int64) {
		if lost {
			return
		}
		lost = true
		v.at.write("backup.lock", []byte(leaseOfOther))
		server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if isLock(r) {
				next.ServeHTTP(w, r)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client disconnects
			<-r.Context().Done()
		})
	}
	if _, err := b.Run(t.Context()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "lost its lease") {
		t.Errorf("Backup.Run: got error %v, want that the lease was lost", err)
	}
	server.Intercept(nil)
	if got := string(v.at.read("backup.lock")); got != leaseOfOther {
		t.Errorf("backup.lock: got %s, want the lease of the other process", got)
	}
}

func TestLeaseSurvivesLostReply(t *testing.T) {
	t.Parallel()
	v, server := newServed(t)
	v.file(v.folder, "lamp")
	var writes atomic.Int64
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if isLock(r) && r.Method == http.MethodPut && writes.Add(1)%2 == 1 {
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	b := v.backup()
	b.Progress = func(string, int64, int64) {
		for seen := writes.Load(); writes.Load() < seen+3 && t.Context().Err() == nil; { // waits until the lease is renewed
			_, _ = v.at.location().Files(t.Context(), "")
		}
	}
	if _, err := b.Run(t.Context()); err != nil {
		t.Errorf("Backup.Run: %v", err)
	}
	if problems := v.problems(); problems != nil {
		t.Errorf("Verification.Run: got problems %q, want none", problems)
	}
}

func TestServerWithoutConditionalWritesIsRefused(t *testing.T) {
	t.Parallel()
	v, server := newServed(t)
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Header.Del("If-Match")
		r.Header.Del("If-None-Match")
		next.ServeHTTP(w, r)
	})
	if _, err := v.backup().Run(t.Context()); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "If-None-Match") {
		t.Errorf("Backup.Run: got error %v, want one with %q", err, "If-None-Match")
	}
}

func TestConcurrentBackupsOneWins(t *testing.T) {
	inEveryLocation(t, func(t *testing.T, v *vault) {
		v.file(v.folder, "lamp")
		const n = 8
		ended := make(chan error, n)
		for range n {
			go func() {
				_, err := v.backup().Run(t.Context())
				ended <- err
			}()
		}
		succeeded := 0
		for range n {
			switch err := <-ended; {
			case err == nil:
				succeeded++
			case !fault.Is(err, fault.Conflict):
				t.Errorf("Backup.Run: got error %v, want a conflict", err)
			}
		}
		if problems := v.problems(); succeeded == 0 || problems != nil {
			t.Errorf("%d concurrent backups succeeded, problems %q, want at least one, without problems", succeeded, problems)
		}
	})
}

func TestBackupContinuesAfterOutage(t *testing.T) {
	t.Parallel()
	v, server := newServed(t)
	v.file(v.folder, "lamp")
	v.fillSegment()
	v.file(v.folder, "glass")
	var down atomic.Bool
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/log/000002.gz") {
			down.Store(true)
		}
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	if _, err := v.backup().Run(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Backup.Run during an outage: got error %v, want kind Unavailable", err)
	}
	server.Intercept(later(3 * time.Minute)) // after this time the lease of the first backup, which it could not release, has expired
	if _, err := restore(t, v.at.location()); !fault.Is(err, fault.NotFound) {
		t.Errorf("Restore.Run of an incomplete backup: got error %v, want kind NotFound", err)
	}
	b := v.backup()
	first := int64(-1)
	b.Progress = func(step string, done, _ int64) {
		if step == "originals" && first < 0 {
			first = done
		}
	}
	r, err := b.Run(t.Context())
	if err != nil || first <= 6 || len(r.Manifest.Segments) != 2 || r.Copied.Files != 1 {
		t.Errorf("Backup.Run after the outage: got first position %d, %+v, %v, want only the second segment and its original", first, r, err)
	}
	server.Intercept(nil)
	if got, err := restore(t, v.at.location()); err != nil || !reflect.DeepEqual(got.records, recordsOf(t, v.log)) {
		t.Errorf("Restore.Run: got %d events (%v), want those of the log", len(got.records), err)
	}
}

func TestCorruptCopyFailsBackup(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/log/000001.gz", "/originals/" + sum("lamp")} {
		v, server := newServed(t)
		v.file(v.folder, "lamp")
		server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, name) {
				next.ServeHTTP(w, r)
				return
			}
			reply := httptest.NewRecorder()
			next.ServeHTTP(reply, r)
			for key, values := range reply.Header() {
				w.Header()[key] = values
			}
			body := reply.Body.Bytes()
			body[len(body)-1] ^= 1
			w.WriteHeader(reply.Code)
			_, _ = w.Write(body)
		})
		if _, err := v.backup().Run(t.Context()); !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), name[1:4]) {
			t.Errorf("Backup.Run: got error %v, want that %s is corrupt", err, name)
		}
		server.Intercept(nil)
		if _, err := restore(t, v.at.location()); !fault.Is(err, fault.NotFound) {
			t.Errorf("Restore.Run: got error %v, want kind NotFound", err)
		}
	}
}
