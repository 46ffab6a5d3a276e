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

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"

	"annals/events"
)

// cluster supervises the one connection to a cluster's leader: it finds the
// leader, tries the connection with a call before anybody gets it, and replaces
// one that was found broken.
type cluster struct {
	settings
	turn chan struct{} // holds the token of who connects

	mu      sync.Mutex
	current *session
	leader  string // as a node told that is not it
}

// session is a connection that has answered a call.
type session struct {
	conn    *grpc.ClientConn
	streams streams.StreamsClient

	// seen is the highest position that was read of the log here. What is read
	// to its end later, here, holds all up to it; at another node, which may
	// just have become the leader, it may not.
	seen atomic.Int64
}

// saw notes a position that was read.
func (s *session) saw(p events.Position) {
	for old := s.seen.Load(); old < int64(p) && !s.seen.CompareAndSwap(old, int64(p)); {
		old = s.seen.Load()
	}
}

func newCluster(s settings) *cluster {
	return &cluster{settings: s, turn: make(chan struct{}, 1)}
}

// session returns the connection, and makes one where there is none. Of those
// who find none, one connects; the others wait for him, or for the end of ctx.
func (c *cluster) session(ctx context.Context) (*session, error) {
	if s := c.held(); s != nil {
		return s, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := c.held(); s != nil {
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

func (c *cluster) held() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// drop closes a connection on which a call has failed so that it may be the
// connection's fault. Other calls on it are cut off.
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
	_ = s.conn.Close() // fails only for one that is closed
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

// connect looks for the leader until a node of the list is, or knows, one that
// answers.
func (c *cluster) connect(ctx context.Context) (*session, error) {
	seeds, several := c.seeds()
	rand.Shuffle(len(seeds), func(i, j int) { seeds[i], seeds[j] = seeds[j], seeds[i] })
	if told := c.told(); told != "" {
		if s, err := c.try(ctx, told); err == nil {
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

// told returns, once, the leader that another node has named.
func (c *cluster) told() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	leader := c.leader
	c.leader = ""
	return leader
}

// try connects to a node and asks it for an event, as its leader. One that
// names another leader is followed there.
func (c *cluster) try(ctx context.Context, address string) (*session, error) {
	s, err := c.ask(ctx, address)
	if other := (*notLeader)(nil); errors.As(err, &other) {
		return c.ask(ctx, other.leader)
	}
	return s, err
}

func (c *cluster) ask(ctx context.Context, address string) (*session, error) {
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

// gossip asks a node who leads.
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

var errNoLeader = errors.New("its cluster has no leader at the moment")
