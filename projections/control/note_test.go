package control

import "testing"

func TestANoteIsThatOfTheLastStart(t *testing.T) {
	eachControl(t, func(t *testing.T, open func() (*Store, error)) {
		server, other := opened(t, open), opened(t, open)
		if text, at, err := other.Noted(t.Context(), "limits"); text != "" || !at.IsZero() || err != nil {
			t.Fatalf("Noted of nothing = %q, %v, %v", text, at, err)
		}
		for _, want := range []string{`{"bytes":1}`, `{"bytes":2}`} {
			if err := server.Note(t.Context(), "limits", want); err != nil {
				t.Fatal(err)
			}
			if text, at, err := other.Noted(t.Context(), "limits"); text != want || at.IsZero() || err != nil {
				t.Errorf("Noted = %q, %v, %v; want %q", text, at, err, want)
			}
		}
	})
}
