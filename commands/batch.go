package commands

import (
	"encoding/json"
	"fmt"

	"annals/events"
)

const (
	// maxBatch is the most estimated bytes of events in one append. It is far below
	// events.MaxAppendBytes, because the estimate may be too low.
	maxBatch = events.MaxAppendBytes / 2
	// metadataBytes is more than an event's metadata and ids take.
	metadataBytes = 1 << 10
)

// batches splits events into appends of at most maxBatch bytes. A larger event gets an
// append of its own.
func batches(data []events.Data) (cut [][]events.Data) {
	from, size := 0, 0
	for i, d := range data {
		b, err := json.Marshal(d)
		if err != nil {
			panic(fmt.Sprintf("commands: %T cannot be encoded: %v", d, err)) // cannot happen for plain structs
		}
		n := len(b) + metadataBytes
		if size+n > maxBatch && i > from {
			cut = append(cut, data[from:i])
			from, size = i, 0
		}
		size += n
	}
	return append(cut, data[from:])
}
