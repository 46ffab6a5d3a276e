package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
)

// profile serves Go's profiles at an address of their own until ctx ends. They
// tell of what the process holds in memory: the address is for operators.
func profile(ctx context.Context, address string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for profiles on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return aside(ctx, listener, mux)
}
