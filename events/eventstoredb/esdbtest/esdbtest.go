// Package esdbtest provides a server for tests that implements a part of EventStoreDB's
// protocol on 127.0.0.1: appends, reads, subscriptions, gossip and features. It stores
// events in any events.Driver, and fails on demand. It imports events and events/fault
// only.
//
// The server uses the positions of the driver. Tests append system streams, and streams
// of other services, directly to the driver.
package esdbtest

import (
	"crypto/tls"
	"encoding/base64"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"annals/events"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

// Options says what a server requires of its clients.
type Options struct {
	TLS      *tls.Config // nil means without TLS
	User     string      // required user; empty means none
	Password string
}

// Server is one node. Start creates one.
type Server struct {
	log     events.Driver
	options Options
	address string

	mu      sync.Mutex
	running *grpc.Server
	served  chan struct{} // closed when the current gRPC server has ended
	faults  []*Fault
	calls   map[Method]int
	cut     chan struct{}        // closed and replaced to drop all subscriptions
	members []*Server            // nodes of the cluster, at least the server itself
	leader  *Server              // leader of the cluster; the server itself if it is not a follower
	placed  map[uuid.UUID]string // streams of appended events, by event id
	begins  map[string]int64     // first revisions of truncated streams
	ends    map[string]end       // cached results of backward reads of the whole log
}

// Start starts a server over a log, and stops the server when the test ends. The caller
// closes the log.
func Start(t testing.TB, log events.Driver) *Server {
	t.Helper()
	return StartWith(t, log, Options{})
}

// StartWith is Start with options.
func StartWith(t testing.TB, log events.Driver, o Options) *Server {
	t.Helper()
	s := &Server{
		log: log, options: o,
		calls: make(map[Method]int), cut: make(chan struct{}),
		placed: make(map[uuid.UUID]string), ends: make(map[string]end), begins: make(map[string]int64),
	}
	s.members, s.leader = []*Server{s}, s
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("esdbtest: %v", err)
	}
	s.address = listener.Addr().String()
	s.serve(listener)
	t.Cleanup(s.Stop)
	return s
}

// Address returns the server's host and port, which do not change.
func (s *Server) Address() string { return s.address }

// URL returns the URL for clients. If the server uses TLS, the caller must add
// the parameter tlsCaFile.
func (s *Server) URL() string {
	user := ""
	if s.options.User != "" {
		user = s.options.User + ":" + s.options.Password + "@"
	}
	return "esdb://" + user + s.address + "?tls=" + strconv.FormatBool(s.options.TLS != nil)
}

// Stop ends all calls and closes the port. It does nothing if the server is already
// stopped.
func (s *Server) Stop() {
	s.mu.Lock()
	running, served := s.running, s.served
	s.running = nil
	s.mu.Unlock()
	if running != nil {
		running.Stop()
		<-served
	}
}

// Restart stops the server, removes all faults, and starts the server on the same port
// with the same log.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop()
	s.Heal()
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		t.Fatalf("esdbtest: %v", err)
	}
	s.serve(listener)
}

func (s *Server) serve(listener net.Listener) {
	options := []grpc.ServerOption{
		grpc.WaitForHandlers(true),
		grpc.StreamInterceptor(s.streamCall), grpc.UnaryInterceptor(s.unaryCall),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	}
	if s.options.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.options.TLS)))
	}
	server, served := grpc.NewServer(options...), make(chan struct{})
	streams.RegisterStreamsServer(server, &service{Server: s})
	gossip.RegisterGossipServer(server, &gossipService{Server: s})
	serverfeatures.RegisterServerFeaturesServer(server, &featuresService{})
	s.mu.Lock()
	s.running, s.served = server, served
	s.mu.Unlock()
	go func() {
		defer close(served)
		_ = server.Serve(listener) // returns an error only after Stop
	}()
}

// authorization returns the authorization header that calls must have.
func (o Options) authorization() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(o.User+":"+o.Password))
}
