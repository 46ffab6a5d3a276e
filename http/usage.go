package http

import (
	"time"

	"annals/commands/quota"
	"annals/events"
)

// me handles GET /me. It says who the caller is. The route is free, because it reads nothing.
func (s *Server) me(c *call) (any, error) {
	return struct {
		Principal events.Principal   `json:"principal"`
		Name      string             `json:"name"`
		Groups    []events.Principal `json:"groups"`
		Admin     bool               `json:"admin"`
		ReadOnly  bool               `json:"readOnly"`
	}{c.user.Principal, c.user.Principal.Name(), append([]events.Principal{}, c.user.Groups...), c.user.Admin, c.user.ReadOnly}, nil
}

// used is what a user has used of one limit.
type used struct {
	Used   float64  `json:"used"`
	InWork *float64 `json:"inWork,omitempty"`
	Failed *float64 `json:"failed,omitempty"`
	// Deleted is the usage by deleted documents whose originals are not swept yet.
	Deleted *float64 `json:"deleted,omitempty"`
	Limit   *float64 `json:"limit"` // null if there is none
}

type usage struct {
	Bytes     used `json:"bytes"`
	Documents used `json:"documents"`
	Folders   used `json:"folders"`
	Shares    used `json:"shares"`
	Imports   used `json:"imports"`
	Search    used `json:"searchSeconds"`
	Changes   used `json:"changeBytes"`
}

// usage handles GET /usage. The reply contains the caller's usage and limits. The route is
// free, so that users who have used up their read time can still call it.
func (s *Server) usage(c *call) (any, error) {
	u, err := s.Queries.Usage(c.Context(), c.user.Principal)
	if err != nil {
		return nil, err
	}
	var limits quota.Limits
	if s.Quotas != nil {
		if limits, err = s.Quotas(c.Context(), c.user); err != nil {
			return nil, err
		}
	}
	part := func(n int64) *float64 { f := float64(n); return &f }
	of := func(k quota.Kind, n int64, unit float64) used {
		one := used{Used: float64(n) / unit}
		if limits[k] > 0 {
			limit := float64(limits[k]) / unit
			one.Limit = &limit
		}
		return one
	}
	out := usage{
		Bytes:     of(quota.Bytes, u.AllBytes(), 1),
		Documents: of(quota.Documents, u.Documents+u.ImportDocuments, 1),
		Folders:   of(quota.Folders, u.Folders+u.ImportFolders, 1),
		Shares:    of(quota.Shares, u.Shares, 1),
		Imports:   of(quota.Imports, u.Imports, 1),
		Search:    of(quota.Search, int64(s.Reads.Used(c.user.Principal).Round(time.Millisecond)), float64(time.Second)),
		Changes:   of(quota.Changed, s.Changes.Used(c.user.Principal), 1),
	}
	out.Bytes.InWork, out.Bytes.Failed, out.Bytes.Deleted = part(u.ImportBytes), part(u.FailedBytes), part(u.DeletedBytes)
	out.Documents.InWork, out.Folders.InWork = part(u.ImportDocuments), part(u.ImportFolders)
	return out, nil
}
