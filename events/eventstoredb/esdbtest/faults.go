package esdbtest

import (
	"cmp"
	"context"
	"net"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Method is a kind of call.
type Method string

// The calls that can fail.
const (
	Append    Method = "Append"
	Read      Method = "Read" // a read of one stream or of the whole log
	Subscribe Method = "Subscribe"
	Gossip    Method = "Gossip"
)

// Fault makes calls of a method fail.
type Fault struct {
	On    Method
	Times int // number of calls that fail; 0 means all calls until Heal

	Delay time.Duration // pause before the call is handled
	Hang  bool          // the response never begins or, if After is set, never ends
	Code  codes.Code    // the call fails with this status
	Text  string        // message of the status
	After int           // number of messages after which a read or subscription fails or hangs

	// LoseReply makes an append succeed, but return Code.
	LoseReply bool
}

// Fail adds a fault. Faults of a method take effect in the order in which they were
// added.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Heal removes all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Drop ends all current subscriptions.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.cut)
	s.cut = make(chan struct{})
}

// Calls returns the number of calls of a method so far.
func (s *Server) Calls(m Method) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[m]
}

// Cluster makes servers of one log the nodes of a cluster. Call it again to change the
// leader. Followers reject calls that require the leader, and report the leader's
// address.
func Cluster(leader *Server, followers ...*Server) {
	all := append([]*Server{leader}, followers...)
	for _, s := range all {
		s.mu.Lock()
		s.members, s.leader = all, leader
		s.mu.Unlock()
	}
}

// begin counts a call and applies the next fault: it delays or fails the call. It
// returns the fault, because After and LoseReply take effect later in the call.
func (s *Server) begin(ctx context.Context, m Method) (Fault, error) {
	f := s.next(m)
	if f.Hang && f.After == 0 {
		<-ctx.Done()
		return f, ctx.Err()
	}
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-ctx.Done():
			return f, ctx.Err()
		}
	}
	if f.Code != codes.OK && f.After == 0 && !f.LoseReply {
		return f, f.error()
	}
	return f, nil
}

func (s *Server) next(m Method) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[m]++
	for i, f := range s.faults {
		if f.On != m {
			continue
		}
		if f.Times == 1 {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
		}
		f.Times = max(f.Times-1, 0)
		return *f
	}
	return Fault{}
}

func (f Fault) error() error {
	return status.Error(f.Code, cmp.Or(f.Text, "fault injected by the test"))
}

// admit rejects unauthenticated calls and, on a follower, calls that require the leader.
func (s *Server) admit(ctx context.Context, setTrailer func(metadata.MD), method string) error {
	header, _ := metadata.FromIncomingContext(ctx)
	if path.Base(path.Dir(method)) != "event_store.client.streams.Streams" {
		return nil
	}
	if got := header.Get("authorization"); s.options.User != "" && (len(got) != 1 || got[0] != s.options.authorization()) {
		setTrailer(metadata.Pairs("exception", "not-authenticated"))
		return status.Error(codes.Unauthenticated, "not authenticated")
	}
	s.mu.Lock()
	leader := s.leader
	s.mu.Unlock()
	if requires := header.Get("requires-leader"); leader == s || len(requires) != 1 || requires[0] != "true" {
		return nil
	}
	host, port, err := net.SplitHostPort(leader.address)
	if err != nil {
		return err
	}
	setTrailer(metadata.Pairs("exception", "not-leader", "leader-endpoint-host", host, "leader-endpoint-port", port))
	return status.Error(codes.NotFound, "leader info available")
}

func (s *Server) streamCall(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if err := s.admit(stream.Context(), stream.SetTrailer, info.FullMethod); err != nil {
		return err
	}
	return handle(srv, stream)
}

func (s *Server) unaryCall(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	setTrailer := func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) } // never fails for a context of gRPC
	if err := s.admit(ctx, setTrailer, info.FullMethod); err != nil {
		return nil, err
	}
	return handle(ctx, req)
}
