package commands

import (
	"encoding/json"
	"fmt"

	"annals/events"
)

const (
	// maxBatch is the most bytes of events that one append is filled with,
	// far enough below events.MaxAppendBytes for what the estimate misses.
	maxBatch = events.MaxAppendBytes / 2
	// metadataBytes is more than an event's metadata and ids take.
	metadataBytes = 1 << 10
)

// batches cuts events into appends of less than maxBatch bytes, or of one
// event.
func batches(data []events.Data) (cut [][]events.Data) {
	from, size := 0, 0
	for i, d := range data {
		b, err := json.Marshal(d)
		if err != nil {
			panic(fmt.Sprintf("commands: %T cannot be encoded: %v", d, err)) // plain structs always can
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
