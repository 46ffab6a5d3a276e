package naming_test

import (
	"slices"
	"strings"
	"testing"

	"annals/commands/naming"
	"annals/events"
	"annals/events/fault"
)

func TestNormalizeFolder(t *testing.T) {
	for _, test := range []struct {
		path, want string // "" if invalid
	}{
		{"Reports", "Reports"},
		{"Reports/2026/Q3", "Reports/2026/Q3"},
		{" Reports / 2026 ", "Reports/2026"},
		{"Cafe\u0301", "Café"},
		{"reports", "reports"},
		{"a.b/..c", "a.b/..c"},
		{"", ""},
		{"/", ""},
		{"/Reports", ""},
		{"Reports/", ""},
		{"a//b", ""},
		{"a/ /b", ""},
		{"a/./b", ""},
		{"../b", ""},
		{"a/.. /b", ""},
		{"a\x00b", ""},
		{"a/\ufeff", ""},
		{"\u200b \u202e", ""},
		{"\u200bb", ""},
		{"a/Fin\u200bance", ""},
		{"a/\u202egnp.exe", ""},
		{"می\u200cخواهم/👩\u200d👧", "می\u200cخواهم/👩\u200d👧"},
		{"Zoe\u22152026", ""},
		{"a/Zoe\u29f82026", ""},
		{"ノート", "ノート"},
		{"a\tb", ""},
		{"a\xffb", ""},
		{strings.Repeat("x", 255), strings.Repeat("x", 255)},
		{strings.Repeat("x", 256), ""},
		{strings.Repeat("e\u0301", 127), strings.Repeat("é", 127)},
		{strings.Repeat("é", 128), ""},
		{strings.Repeat("a/", 31) + "a", strings.Repeat("a/", 31) + "a"},
		{strings.Repeat("a/", 32) + "a", ""},
	} {
		got, err := naming.Folder(test.path)
		if got != test.want || test.want == "" && !fault.Is(err, fault.Invalid) || test.want != "" && err != nil {
			t.Errorf("naming.Folder(%.40q) = %.40q, %v; want %.40q", test.path, got, err, test.want)
		}
	}
}

func FuzzNormalizeFolder(f *testing.F) {
	for _, path := range []string{"a/b", " é /x", "..", "a\u0301/\u00a0", "\u2028"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		once, err := naming.Folder(path)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("naming.Folder(%q): %v, want an error of kind invalid", path, err)
			}
			return
		}
		if twice, err := naming.Folder(once); err != nil || twice != once {
			t.Errorf("naming.Folder(%q) = %q, but naming.Folder of that = %q, %v", path, once, twice, err)
		}
	})
}

func TestInboxFolder(t *testing.T) {
	long := strings.Repeat("ü", 200)
	seen := make(map[string]string)
	for subject, want := range map[string]string{
		"alice":      "Inbox/alice",
		"Alice B.":   "Inbox/Alice B.",
		"idp/42":     "Inbox/idp%2F42",
		"idp%2F42":   "Inbox/idp%252F42",
		"..":         "Inbox/%2E%2E",
		" x":         "Inbox/%20x",
		"e\u0301":    "Inbox/e%CC%81",
		"\u00e9":     "Inbox/é",
		long:         "",
		long + "\n":  "",
		"a\nb":       "Inbox/a%0Ab",
		"idp/a@b.de": "Inbox/idp%2Fa@b%2Ede",
	} {
		got := naming.InboxFolder(events.User{Principal: events.Principal("user:" + subject)})
		if want != "" && got != want {
			t.Errorf("naming.InboxFolder(%q) = %q, want %q", subject, got, want)
		}
		if path, err := naming.Folder(got); err != nil || path != got {
			t.Errorf("naming.InboxFolder(%q) = %q, which normalizes to %q, %v", subject, got, path, err)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q share the inbox %q", subject, other, got)
		}
		seen[got] = subject
	}
}

func TestNormalizeTags(t *testing.T) {
	many := make([]string, 65)
	for i := range many {
		many[i] = strings.Repeat("t", i+1)
	}
	for _, test := range []struct {
		tags, want []string
		invalid    bool
	}{
		{nil, nil, false},
		{[]string{"b", " a ", "b", "B"}, []string{"b", "a", "B"}, false},
		{[]string{"cafe\u0301", "café"}, []string{"café"}, false},
		{many[:64], many[:64], false},
		{many, nil, true},
		{append(slices.Clone(many[:64]), "t"), many[:64], false},
		{[]string{""}, nil, true},
		{[]string{"a\nb"}, nil, true},
		{[]string{strings.Repeat("t", 129)}, nil, true},
		{[]string{"\xff"}, nil, true},
	} {
		got, err := naming.Tags(test.tags)
		if !slices.Equal(got, test.want) || fault.Is(err, fault.Invalid) != test.invalid {
			t.Errorf("naming.Tags(%.60q) = %.60q, %v; want %.60q", test.tags, got, err, test.want)
		}
	}
}
