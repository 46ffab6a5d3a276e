package http

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"
)

// Answered describes a finished request, without any content.
type Answered struct {
	// Route is the path template of the matching route, such as /vault/documents/{id}. It is
	// "none" if no route matched.
	Route  string
	Method string // "other" if no route supports the method
	Status int    // 0 if the connection was closed before a reply
	Took   time.Duration
}

func (s *Server) observe(w *response, r *http.Request, took time.Duration) {
	if s.Observe != nil {
		s.Observe(answered(w, r, took))
	}
}

func answered(w *response, r *http.Request, took time.Duration) Answered {
	a := Answered{Route: w.route, Method: r.Method, Status: w.status, Took: took}
	orElse(&a.Route, "none")
	if !slices.Contains(methods, a.Method) && a.Method != http.MethodOptions {
		a.Method = "other" // a client may send any method
	}
	return a
}

// noteRoute stores the matching route in the response, for metrics and logs.
func noteRoute(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if out, ok := w.(*response); ok {
			out.route = template(mux.CurrentRoute(r))
		}
		next.ServeHTTP(w, r)
	})
}

// template returns the path template of a route, without the regular expressions of its
// variables.
func template(route *mux.Route) string {
	path, err := route.GetPathTemplate()
	if err != nil {
		return "" // it has no path
	}
	var plain strings.Builder
	for {
		before, variable, found := strings.Cut(path, "{")
		plain.WriteString(before)
		if !found {
			return plain.String()
		}
		variable, path, _ = strings.Cut(variable, "}")
		name, _, _ := strings.Cut(variable, ":")
		plain.WriteString("{" + name + "}")
	}
}
