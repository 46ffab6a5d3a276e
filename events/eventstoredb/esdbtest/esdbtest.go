// Package esdbtest gives tests a server that speaks EventStoreDB's protocol on
// 127.0.0.1, over any driver of ours, and fails on demand. It answers what a
// log needs: appends, reads, subscriptions, gossip and features, and imports
// events and events/fault only.
//
// Positions are the driver's. What else the log holds, such as streams of other
// services, or system streams, tests append to the driver.
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

// Options are what a server asks of its clients.
type Options struct {
	TLS      *tls.Config // plain text where it is nil
	User     string      // whom calls must come from; anybody where it is empty
	Password string
}

// Server is one node. Start makes one.
type Server struct {
	log     events.Driver
	options Options
	address string

	mu      sync.Mutex
	running *grpc.Server
	served  chan struct{} // closed when running has ended
	faults  []*Fault
	calls   map[Method]int
	cut     chan struct{}        // closed and replaced to drop all subscriptions
	members []*Server            // of the cluster, where there is one
	leader  *Server              // itself, unless it follows another
	placed  map[uuid.UUID]string // the streams of events that were appended, by id
	begins  map[string]int64     // the first revisions of streams that were truncated
	ends    map[string]end       // what backward reads of the whole log have found
}

// Start serves the log, as its only node, until the test ends. The log stays
// the caller's.
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

// Address returns the server's host and port, which it keeps for good.
func (s *Server) Address() string { return s.address }

// URL returns what a client of the server is given. Where the server asks for
// TLS, the caller adds the file of its authority.
func (s *Server) URL() string {
	user := ""
	if s.options.User != "" {
		user = s.options.User + ":" + s.options.Password + "@"
	}
	return "esdb://" + user + s.address + "?tls=" + strconv.FormatBool(s.options.TLS != nil)
}

// Stop ends all calls and closes the port. Stopping again does nothing.
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

// Restart stops the server and starts it again at the same port with the same
// log. What it was to fail is forgotten.
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
		_ = server.Serve(listener) // ends with an error only where Stop has ended it
	}()
}

// authorization is the header of calls that the server takes.
func (o Options) authorization() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(o.User+":"+o.Password))
}
