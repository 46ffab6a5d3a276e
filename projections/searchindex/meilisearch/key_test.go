package meilisearch

import (
	"slices"
	"strings"
	"testing"
)

func TestKeysKeepOrderOfIDs(t *testing.T) {
	const document = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	ids := []string{document + "/1/0/0", document + "/1/0/1", document + "/1/0/10", document + "/1/1/0", document + "/1/10/0", document + "/10/0/0", document + "/2/0/0"}
	if !slices.IsSorted(ids) || !slices.IsSorted(keys(ids)) {
		t.Errorf("the keys of %v are %v, want them in the same order", ids, keys(ids))
	}
}

func FuzzKey(f *testing.F) {
	for _, seed := range []string{"", "a", "6ba7b810-9dad-11d1-80b4-00c04fd430c8/1/0/12", "a--b", "a/-b", "-", "/", "_", "Big One", "日本", "\xff", "_2f", "a_b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		k := key(id)
		if got, ok := parseKey(k); !ok || got != id {
			t.Errorf("parseKey(key(%q)) = %q, %t", id, got, ok)
		}
		if strings.Trim(k, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || k == "" || k == stateID {
			t.Errorf("key(%q) = %q, which is not a valid id", id, k)
		}
	})
}
