package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"annals/events"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
)

// cluster maintains a connection to the leader of a cluster. It finds the leader, makes
// a test call on a new connection before other calls use the connection, and replaces a
// failed connection.
type cluster struct {
	settings
	connecting chan struct{} // holds a token while a goroutine connects

	mu      sync.Mutex
	current *session
	leader  string // address of the leader as reported by another node
}

// session is a connection on which a call has succeeded.
type session struct {
	conn    *grpc.ClientConn
	streams streams.StreamsClient

	// seen is the highest position read from this node. Later reads from this node cover
	// the log at least up to seen. Another node that has just become the leader may not
	// have that part of the log yet.
	seen atomic.Int64
}

// saw records a position that was read.
func (s *session) saw(p events.Position) {
	for old := s.seen.Load(); old < int64(p) && !s.seen.CompareAndSwap(old, int64(p)); {
		old = s.seen.Load()
	}
}

func newCluster(s settings) *cluster {
	return &cluster{settings: s, connecting: make(chan struct{}, 1)}
}

// session returns the connection. If there is no connection, one caller connects, and
// all other callers wait.
func (c *cluster) session(ctx context.Context) (*session, error) {
	if s := c.existing(); s != nil {
		return s, nil
	}
	select {
	case c.connecting <- struct{}{}:
		defer func() { <-c.connecting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := c.existing(); s != nil {
		return s, nil
	}
	s, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = s
	return s, nil
}

func (c *cluster) existing() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// drop closes a connection that may have caused an error. Other calls on this connection
// fail.
func (c *cluster) drop(s *session, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != s {
		return
	}
	c.current = nil
	if other := (*notLeader)(nil); errors.As(err, &other) {
		c.leader = other.leader
	}
	_ = s.conn.Close() // fails only if it is already closed
}

func (c *cluster) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return nil
	}
	s := c.current
	c.current = nil
	return s.conn.Close()
}

// connect tries the nodes in the URL until one of them is the leader, or names a leader
// that responds.
func (c *cluster) connect(ctx context.Context) (*session, error) {
	seeds, several := c.seeds()
	rand.Shuffle(len(seeds), func(i, j int) { seeds[i], seeds[j] = seeds[j], seeds[i] })
	if leader := c.takeLeader(); leader != "" {
		if s, err := c.try(ctx, leader); err == nil {
			return s, nil
		}
	}
	var failed error
	for _, address := range seeds {
		leader := address
		var err error
		if several {
			leader, err = c.gossip(ctx, address)
		}
		if err == nil {
			var s *session
			if s, err = c.try(ctx, leader); err == nil {
				return s, nil
			}
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", address, err))
	}
	return nil, failed
}

// takeLeader returns and clears the address of the leader that another node has
// reported.
func (c *cluster) takeLeader() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	leader := c.leader
	c.leader = ""
	return leader
}

// try connects to a node and reads an event, which only the leader returns. If the node
// names another node as the leader, try continues with that node.
func (c *cluster) try(ctx context.Context, address string) (*session, error) {
	s, err := c.open(ctx, address)
	if other := (*notLeader)(nil); errors.As(err, &other) {
		return c.open(ctx, other.leader)
	}
	return s, err
}

func (c *cluster) open(ctx context.Context, address string) (*session, error) {
	conn, err := c.dial(address)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, streams: streams.NewStreamsClient(conn)}
	if _, err := read(ctx, s, lastOfAll(nil), func(*recorded) bool { return false }); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

// gossip returns the leader that a node names.
func (c *cluster) gossip(ctx context.Context, address string) (leader string, err error) {
	conn, err := c.dial(address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.config.GossipTimeout)*time.Second)
	defer cancel()
	info, err := gossip.NewGossipClient(conn).Read(ctx, &shared.Empty{})
	if err != nil {
		return "", err
	}
	for _, m := range info.GetMembers() {
		if m.GetState() == gossip.MemberInfo_Leader && m.GetIsAlive() {
			e := m.GetHttpEndPoint()
			return net.JoinHostPort(e.GetAddress(), strconv.FormatUint(uint64(e.GetPort()), 10)), nil
		}
	}
	return "", errNoLeader
}

var errNoLeader = errors.New("the cluster has no leader at the moment")
