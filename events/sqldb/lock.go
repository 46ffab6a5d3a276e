package sqldb

import "hash/fnv"

// LockKey returns the key of the advisory lock of a name: locks are numbers.
func LockKey(name string) int64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return int64(h.Sum64())
}
