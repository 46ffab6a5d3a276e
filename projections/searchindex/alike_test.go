package searchindex

import "testing"

func TestWithin(t *testing.T) {
	for _, test := range []struct {
		a, b  string
		limit int
		want  bool
	}{
		{"lighthous", "lighthous", 0, true},
		{"lighthous", "lihgthous", 1, true},
		{"lighthous", "lighthus", 1, true},
		{"lighthous", "xlighthous", 1, true},
		{"lighthous", "ligthus", 1, false},
		{"lighthous", "ligthus", 2, true},
		{"straße", "strasse", 2, true},
		{"", "a", 1, true},
		{"ab", "abcd", 1, false},
	} {
		if got := Within(test.a, test.b, test.limit); got != test.want || Within(test.b, test.a, test.limit) != got {
			t.Errorf("Within(%s, %s, %d) = %t, want %t", test.a, test.b, test.limit, got, test.want)
		}
	}
}
