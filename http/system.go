package http

import (
	"net/http"
	"runtime"

	"annals/events/fault"
	"annals/schema"
)

// health says that the program answers.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	_ = coreDialect.write(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready says whether reads can be answered: 200, or 503 and why not.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if err := s.Queries.Ready(r.Context()); err != nil {
		s.notReady(r, err)
		coreDialect.fail(w, err)
		return
	}
	_ = coreDialect.write(w, http.StatusOK, map[string]string{"status": "ready"})
}

// notReady tells of a probe that was refused. Read models that catch up are no
// fault, and probes come every few seconds.
func (s *Server) notReady(r *http.Request, err error) {
	if !fault.Is(err, fault.Unavailable) {
		s.log(r, err)
		return
	}
	s.Logger.DebugContext(r.Context(), "not ready", "error", fault.Detail(err), "request", correlation(r.Context()))
}

func (s *Server) version(w http.ResponseWriter, r *http.Request) {
	_ = coreDialect.write(w, http.StatusOK, map[string]string{
		"version": s.Version, "interface": interfaceVersion, "go": runtime.Version(),
	})
}

// interfaceVersion is that of the interface which both services keep.
const interfaceVersion = "0.1.0-beta"

// openAPI serves one of the two documents that describe the services.
func openAPI(name string) http.Handler {
	text, err := schema.OpenAPI.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(text)
	})
}
