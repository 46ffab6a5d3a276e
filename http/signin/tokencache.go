package signin

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// tokenCache is an LRU cache of verified tokens. The keys are hashes of the tokens, so that a
// memory dump contains no usable token.
type tokenCache struct {
	mu    sync.Mutex
	max   int
	order *list.List // elements are *cachedToken, most recently used first
	byKey map[tokenHash]*list.Element
}

type tokenHash = [sha256.Size]byte

type cachedToken struct {
	hash  tokenHash
	token verified
}

func newTokenCache(max int) *tokenCache {
	return &tokenCache{max: max, order: list.New(), byKey: map[tokenHash]*list.Element{}}
}

func (c *tokenCache) get(hash tokenHash) (verified, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[hash]
	if !ok {
		return verified{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedToken).token, true
}

func (c *tokenCache) put(hash tokenHash, token verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[hash]; ok {
		e.Value.(*cachedToken).token = token
		c.order.MoveToFront(e)
		return
	}
	c.byKey[hash] = c.order.PushFront(&cachedToken{hash, token})
	if c.order.Len() > c.max {
		c.unlink(c.order.Back())
	}
}

func (c *tokenCache) remove(hash tokenHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[hash]; ok {
		c.unlink(e)
	}
}

func (c *tokenCache) unlink(e *list.Element) {
	delete(c.byKey, c.order.Remove(e).(*cachedToken).hash)
}
