package http

import (
	"net/http"

	"annals/events/fault"
	"annals/http/admin"
	"annals/http/problem"
)

// administrators returns an endpoint that only administrators may use.
func administrators(answer func(s *admin.Service, r *http.Request) (status int, body any, err error)) endpoint {
	return func(s *Server, c *call) (any, error) {
		if !c.user.Admin {
			return nil, fault.Errorf(fault.Forbidden, "only administrators may use this")
		}
		if s.Admin == nil {
			return nil, fault.Errorf(fault.NotFound, "this server has nothing for administrators")
		}
		status, body, err := answer(s.Admin, c.Request)
		if c.Method != http.MethodGet {
			s.Logger.InfoContext(c.Context(), "administrator's request", "path", c.URL.Path, "user", c.user.Principal, "error", err, "correlation_id", Correlation(c.Context()))
		}
		return withStatus(problem.Core, status, body), err
	}
}
