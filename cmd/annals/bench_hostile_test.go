package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	hostileTime  = 2 * time.Minute // duration of the attack; ANNALS_HOSTILE overrides it
	hostileQuota = 256             // quota of each user in MiB
	hostileFill  = 150             // documents of each user at the start
)

// BenchmarkHostileHour measures three users who import, search and ask at a steady
// rate, first alone, and then while a fourth user attacks the server. It reports the
// response times of the three users during the attack divided by those without it, the
// memory of the server and its child processes, and the growth of the data folder. At
// the end every document of the three users must exist and be found, and annals verify
// must find no problem.
func BenchmarkHostileHour(b *testing.B) {
	lasts := hostileTime
	if text := os.Getenv("ANNALS_HOSTILE"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			b.Fatalf("ANNALS_HOSTILE: %v", err)
		}
	}
	s := serveBench(b, nil, "--quota-bytes", fmt.Sprint(hostileQuota, "MiB"))
	users := []*steadyUser{newSteadyUser(s, "ann"), newSteadyUser(s, "ben"), newSteadyUser(s, "cleo")}
	him := newHostileUser(s, "mallory", users)
	for b.Loop() {
		s.together(users, func(ctx context.Context, u *steadyUser) error { return u.fill(ctx) })
		him.prepare()
		stop := s.watchFamily() // only to have the same load as below: measuring memory takes CPU time, too
		alone := s.steady(users, lasts/4)
		stop()
		before := s.diskSize()
		stop = s.watchFamily()
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			him.attack(ctx)
		}()
		beside := s.steady(users, lasts)
		cancel()
		<-ended
		peak, server := stop()
		grown, parts := s.diskSize().since(before)
		b.Logf("without him: %s", alone)
		b.Logf("beside him:  %s", beside)
		b.Logf("the data folder grew by %s", parts)
		b.Logf("he was answered: %s", him.answers())
		for _, what := range []string{"import", "search", "ask"} {
			p50, p95 := quantile(alone[what], 0.5), quantile(alone[what], 0.95)
			b.ReportMetric(quantile(beside[what], 0.5).Seconds()/p50.Seconds(), what+"-p50/alone")
			b.ReportMetric(quantile(beside[what], 0.95).Seconds()/p95.Seconds(), what+"-p95/alone")
		}
		b.ReportMetric(peak, "peak-MB")
		b.ReportMetric(server, "server-peak-MB")
		b.ReportMetric(float64(grown)/(1<<20), "disk-MB")
		b.ReportMetric(hostileQuota, "quota-MB")
		b.ReportMetric(float64(him.accepted())/(1<<20), "his-MB")
		s.together(users, func(ctx context.Context, u *steadyUser) error { return u.wantAll(ctx) })
	}
	him.wantNoFault()
	if err := s.end(os.Interrupt); err != nil {
		b.Errorf("the server ended with %v", err)
	}
	var report strings.Builder
	if err := run(b.Context(), []string{"verify", "--data", s.data}, strings.NewReader(""), &report, &report); err != nil {
		b.Errorf("verify: %v\n%s", err, report.String())
	}
}

// together calls do for all users concurrently.
func (s *benchServer) together(users []*steadyUser, do func(context.Context, *steadyUser) error) {
	s.Helper()
	g, ctx := errgroup.WithContext(s.Context())
	for _, u := range users {
		g.Go(func() error {
			if err := do(ctx, u); err != nil {
				return fmt.Errorf("%s: %w", u.name, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		s.Fatal(err)
	}
}

// waits are the response times by action.
type waits map[string][]time.Duration

func (w waits) String() string {
	var text strings.Builder
	for _, what := range []string{"import", "search", "ask"} {
		d := w[what]
		fmt.Fprintf(&text, "%s %d times, p50 %v, p95 %v, most %v; ", what, len(d),
			quantile(d, 0.5).Round(time.Millisecond), quantile(d, 0.95).Round(time.Millisecond), quantile(d, 1).Round(time.Millisecond))
	}
	return strings.TrimSuffix(text.String(), "; ")
}

// steady runs the actions of all users for the given duration, and returns their
// response times.
func (s *benchServer) steady(users []*steadyUser, lasts time.Duration) waits {
	s.Helper()
	all := waits{}
	var mu sync.Mutex
	s.together(users, func(ctx context.Context, u *steadyUser) error {
		until := time.Now().Add(lasts)
		g, ctx := errgroup.WithContext(ctx)
		for what, act := range map[string]struct {
			every time.Duration
			do    func(ctx context.Context, n int) error
		}{
			"import": {3 * time.Second, u.importSome},
			"search": {time.Second, func(ctx context.Context, _ int) error { return u.search(ctx, zipfQuestion(u.random())) }},
			"ask":    {3 * time.Second, func(ctx context.Context, _ int) error { return u.ask(ctx, zipfQuestion(u.random())) }},
		} {
			g.Go(func() error {
				// Each action is due at regular times. If the previous one still runs
				// when the next is due, the next one starts late, and its response time
				// includes that delay.
				for due := time.Now().Add(time.Duration(rand.Int64N(int64(act.every)))); due.Before(until); due = due.Add(act.every) {
					select {
					case <-time.After(time.Until(due)):
					case <-ctx.Done():
						return ctx.Err()
					}
					if err := act.do(ctx, u.next()); err != nil {
						return fmt.Errorf("%s: %w", what, err)
					}
					mu.Lock()
					all[what] = append(all[what], time.Since(due))
					mu.Unlock()
				}
				return nil
			})
		}
		return g.Wait()
	})
	return all
}
