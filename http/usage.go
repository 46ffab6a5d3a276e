package http

import (
	"annals/commands/quota"
	"annals/events"
	"annals/http/usage"
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
	return usage.Of(u, limits, s.Reads.Used(c.user.Principal), s.Changes.Used(c.user.Principal)), nil
}
