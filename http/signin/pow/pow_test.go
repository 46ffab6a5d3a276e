package pow

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"annals/http/signin/sealed"
)

func challenge(t testing.TB, key sealed.Key, subject string, difficulty int, now time.Time) Challenge {
	t.Helper()
	c, err := New(key, subject, difficulty, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCheck(t *testing.T) {
	key, now := sealed.NewKey(), time.Now()
	c := challenge(t, key, "alice", 8, now)
	proof := Solve(c)
	s, err := Check(key, proof, "alice", 8, now)
	if err != nil || s.ID == "" {
		t.Fatalf("Check = %+v, %v", s, err)
	}
	other := challenge(t, key, "alice", 8, now)
	_, counters, _ := strings.Cut(proof, ":")
	for name, c := range map[string]struct {
		proof, subject string
		difficulty     int
		at             time.Time
		want           error
	}{
		"no proof":             {"", "alice", 8, now, ErrInvalid},
		"another subject":      {proof, "bob", 8, now, ErrInvalid},
		"much too easy":        {proof, "alice", 8 + margin + 1, now, ErrInvalid},
		"an expired challenge": {proof, "alice", 8, now.Add(lifetime), ErrExpired},
		"another challenge":    {other.Text + ":" + counters, "alice", 8, now, ErrInvalid},
		"counters of zero":     {challenge(t, key, "alice", 16, now).Text + ":0,0,0,0,0,0,0,0", "alice", 8, now, ErrInvalid},
		"too few counters":     {c.Text + ":0,1,2", "alice", 8, now, ErrInvalid},
		"a counter too many":   {proof + ",0", "alice", 8, now, ErrInvalid},
		"another key":          {Solve(challenge(t, sealed.NewKey(), "alice", 8, now)), "alice", 8, now, ErrInvalid},
		"a proof too long":     {proof + strings.Repeat("0", maxProof), "alice", 8, now, ErrInvalid},
	} {
		if _, err := Check(key, c.proof, c.subject, c.difficulty, c.at); !errors.Is(err, c.want) {
			t.Errorf("Check with %s = %v, want %v", name, err, c.want)
		}
	}
	if _, err := Check(key, proof, "alice", 8+margin, now); err != nil {
		t.Errorf("Check of a challenge that is easier by the margin: %v", err)
	}
}

func TestDifficulty(t *testing.T) {
	for failures, want := range map[int]int{0: 0, 4: 0, 5: MinBits, 6: MinBits + 1, 12: maxBits, 1_000_000: maxBits} {
		if got := Difficulty(failures, 5); got != want {
			t.Errorf("Difficulty(%d, 5) = %d, want %d", failures, got, want)
		}
	}
}

func TestTallyKeepsCountDuringFlood(t *testing.T) {
	now := time.Now()
	tally := NewTally(time.Minute, func() time.Time { return now })
	for range 7 {
		tally.Take("alice")
	}
	for i := range 20_000 {
		tally.Take(fmt.Sprint(i))
	}
	if got := tally.Count("alice"); got < 7 {
		t.Errorf("after 20000 other keys the count is %d, want at least 7", got)
	}
}

func TestTallyDecays(t *testing.T) {
	now := time.Now()
	tally := NewTally(time.Minute, func() time.Time { return now })
	for range 1000 {
		tally.Take("alice")
	}
	// An attempt without a proof of work each second: it is refused, so Refund undoes its
	// Take.
	for range 6 * 60 {
		now = now.Add(time.Second)
		tally.Take("alice")
		tally.Refund("alice")
	}
	if got := tally.Count("alice"); got != 0 {
		t.Errorf("after six minutes of refunded attempts the count is %d, want 0", got)
	}
	for range 8 {
		tally.Take("alice")
	}
	for minute, want := range []int{8, 4, 2, 1, 0} {
		if got := tally.Count("alice"); got != want {
			t.Errorf("after %d minutes the count is %d, want %d", minute, got, want)
		}
		now = now.Add(time.Minute)
	}
}

func TestScriptFindsSameProof(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node is not installed")
	}
	script, err := os.ReadFile("../provider/scripts/work.js")
	if err != nil {
		t.Fatal(err)
	}
	key, now := sealed.NewKey(), time.Now()
	c := challenge(t, key, "alice", MinBits, now)
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", `
		const {solvePart} = await import("data:text/javascript;base64,`+base64.StdEncoding.EncodeToString(script)+`");
		const c = `+string(encoded)+`;
		console.log(Array.from({length: c.parts}, (_, part) => solvePart(c.seed, c.bits, part)).join(","));`)
	out, err := run.Output()
	if err != nil {
		t.Fatalf("node: %v %s", err, err.(*exec.ExitError).Stderr)
	}
	proof := c.Text + ":" + strings.TrimSpace(string(out))
	if _, err := Check(key, proof, "alice", MinBits, now); err != nil {
		t.Errorf("Check of the script's proof %s: %v", proof, err)
	}
	if want := Solve(c); proof != want {
		t.Errorf("the script's proof is %s, want %s", proof, want)
	}
}

func FuzzCheck(f *testing.F) {
	key, now := sealed.NewKey(), time.Now()
	proof := Solve(challenge(f, key, "alice", 4, now))
	f.Add(proof)
	f.Add(":,,,,,,,")
	f.Add(strings.Replace(proof, ",", ",+", 1))
	f.Add("a.b:0,0,0,0,0,0,0,4294967296")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Check(key, text, "alice", MinBits, now); err == nil {
			t.Errorf("Check accepts %q", text)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	key, now := sealed.NewKey(), time.Now()
	proof := Solve(challenge(b, key, "alice", MinBits, now))
	for b.Loop() {
		if _, err := Check(key, proof, "alice", MinBits, now); err != nil {
			b.Fatal(err)
		}
	}
}
