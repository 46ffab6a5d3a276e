// Package usage has the body of the reply to GET /usage. It imports commands/quota and queries.
package usage

import (
	"time"

	"annals/commands/quota"
	"annals/queries"
)

// used is what a user has used of one limit.
type used struct {
	Used   float64  `json:"used"`
	InWork *float64 `json:"inWork,omitempty"`
	Failed *float64 `json:"failed,omitempty"`
	// Deleted is the usage by deleted documents whose originals are not swept yet.
	Deleted *float64 `json:"deleted,omitempty"`
	Limit   *float64 `json:"limit"` // null if there is none
}

// Usage is the body.
type Usage struct {
	Bytes     used `json:"bytes"`
	Documents used `json:"documents"`
	Folders   used `json:"folders"`
	Shares    used `json:"shares"`
	Imports   used `json:"imports"`
	Search    used `json:"searchSeconds"`
	Changes   used `json:"changeBytes"`
}

// Of returns the body for a user with these limits, who has read for a time and whose recent changes added some bytes to the log.
func Of(u queries.Usage, limits quota.Limits, read time.Duration, changed int64) Usage {
	part := func(n int64) *float64 { f := float64(n); return &f }
	of := func(k quota.Kind, n int64, unit float64) used {
		one := used{Used: float64(n) / unit}
		if limits[k] > 0 {
			limit := float64(limits[k]) / unit
			one.Limit = &limit
		}
		return one
	}
	out := Usage{
		Bytes:     of(quota.Bytes, u.AllBytes(), 1),
		Documents: of(quota.Documents, u.Documents+u.ImportDocuments, 1),
		Folders:   of(quota.Folders, u.Folders+u.ImportFolders, 1),
		Shares:    of(quota.Shares, u.Shares, 1),
		Imports:   of(quota.Imports, u.Imports, 1),
		Search:    of(quota.Search, int64(read.Round(time.Millisecond)), float64(time.Second)),
		Changes:   of(quota.Changed, changed, 1),
	}
	out.Bytes.InWork, out.Bytes.Failed, out.Bytes.Deleted = part(u.ImportBytes), part(u.FailedBytes), part(u.DeletedBytes)
	out.Documents.InWork, out.Folders.InWork = part(u.ImportDocuments), part(u.ImportFolders)
	return out
}
