package main

import (
	"net/http"
	"net/http/pprof"
)

// profiles serves Go's profiles. They tell of what the process holds in memory:
// their address is for operators.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
