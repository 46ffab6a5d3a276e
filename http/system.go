package http

import (
	"net/http"
	"runtime"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/http/problem"
	"annals/queries"
	"annals/schema"
)

// health handles GET /healthz.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	_ = problem.Core.Write(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readiness is the JSON of GET /readyz: whether the service is ready, and the state of each
// read model.
type readiness struct {
	Status string       `json:"status,omitempty"`
	Detail string       `json:"detail,omitempty"` // why it is not ready
	Away   string       `json:"away,omitempty"`   // what is unreachable, although reads are possible
	Full   string       `json:"full,omitempty"`   // which disks are full, although reads are possible
	Unread string       `json:"scans_unread"`     // why scanned pages are not read; "" if they are
	Models []modelState `json:"read_models,omitempty"`
}

type modelState struct {
	Name     string           `json:"name"`
	Position events.Position  `json:"position"`
	Head     *events.Position `json:"head,omitempty"` // absent while the log is unreachable
	Waiting  int              `json:"waiting"`
	Leads    bool             `json:"leads,omitempty"` // this node applies its events
}

func newModelState(m queries.Model) modelState {
	state := modelState{Name: m.Name, Position: m.Position, Head: &m.Head, Waiting: m.Waiting, Leads: m.Leader}
	if m.HeadUnknown {
		state.Head = nil
	}
	return state
}

// ready handles GET /readyz. The status is 200 if reads are possible, and otherwise 503 with
// the reason.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	state := readiness{Status: "ready", Unread: s.Unrecognised}
	models, err := s.Queries.Status(r.Context())
	if err != nil {
		s.notReady(r, err)
	}
	if fault.Is(err, fault.Unavailable) {
		_, state.Away = problem.Describe(err)
	}
	state.Models, state.Full = each(models, newModelState), s.full(models)
	err = s.Queries.Ready(r.Context())
	if s.stopping.Load() {
		err = errStopping
	}
	if err != nil {
		s.notReady(r, err)
		status, why := problem.Describe(err)
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "5")
		}
		_ = problem.Core.Write(w, status, readiness{Detail: why, Full: state.Full, Unread: state.Unread, Models: state.Models})
		return
	}
	_ = problem.Core.Write(w, http.StatusOK, state)
}

// full returns a text that says which disks are full and what that prevents, or "" if none is
// full.
func (s *Server) full(models []queries.Model) string {
	var text []string
	if folders := s.Disks.Full(); len(folders) > 0 {
		text = append(text, "no room is left on the disk of: "+strings.Join(folders, ", ")+"; nothing can be imported or changed until there is some")
	}
	var behind []string
	for _, m := range models {
		if m.Full {
			behind = append(behind, m.Name)
		}
	}
	if len(behind) > 0 {
		text = append(text, "these read models stay behind because their disk is full: "+strings.Join(behind, ", "))
	}
	return strings.Join(text, "; ")
}

// errStopping is the reply to GET /readyz while a stopping server still serves requests.
var errStopping = fault.Errorf(fault.Unavailable, "the server is stopping")

// notReady logs that GET /readyz replied 503. While read models catch up it uses level debug,
// because load balancers call GET /readyz every few seconds.
func (s *Server) notReady(r *http.Request, err error) {
	if !fault.Is(err, fault.Unavailable) {
		s.log(r, err)
		return
	}
	s.Logger.DebugContext(r.Context(), "not ready", "error", fault.Detail(err), "correlation_id", Correlation(r.Context()))
}

func (s *Server) version(w http.ResponseWriter, r *http.Request) {
	_ = problem.Core.Write(w, http.StatusOK, map[string]string{
		"version": s.Version, "interface": interfaceVersion, "go": runtime.Version(),
	})
}

// interfaceVersion is the version of the REST interfaces of the core and the vault.
const interfaceVersion = "0.1.0-beta"

// openAPI returns a handler that serves an OpenAPI document.
func openAPI(name string) http.Handler {
	text, err := schema.OpenAPI.ReadFile(name)
	if err != nil {
		panic(err) // unreachable, because the document is embedded
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(text)
	})
}
