package signin

import "testing"

func TestTokenCacheEvictsLeastRecentlyUsed(t *testing.T) {
	c := newTokenCache(2)
	c.put(tokenHash{1}, verified{keyID: "1"})
	c.put(tokenHash{2}, verified{keyID: "2"})
	c.get(tokenHash{1})
	c.put(tokenHash{3}, verified{keyID: "3"})
	for hash, want := range map[tokenHash]bool{{1}: true, {2}: false, {3}: true} {
		if _, ok := c.get(hash); ok != want {
			t.Errorf("get(%d) = %v, want %v", hash[0], ok, want)
		}
	}
	c.remove(tokenHash{1})
	if _, ok := c.get(tokenHash{1}); ok || len(c.byKey) != 1 || c.order.Len() != 1 {
		t.Errorf("after remove the cache has %d tokens, want 1", len(c.byKey))
	}
}
