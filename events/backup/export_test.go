package backup

import "time"

func init() {
	renewal = 20 * time.Millisecond
	maxNames = 2
	segmentBytes = 4 << 20
}
