package esdbtest

import (
	"context"
	"net"
	"strconv"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
)

// gossipService implements the Gossip service, which lists the nodes.
type gossipService struct {
	gossip.UnimplementedGossipServer
	*Server
}

// Read implements gossip.GossipServer.
func (s *gossipService) Read(ctx context.Context, _ *shared.Empty) (*gossip.ClusterInfo, error) {
	if _, err := s.begin(ctx, Gossip); err != nil {
		return nil, err
	}
	s.mu.Lock()
	members, leader := s.members, s.leader
	s.mu.Unlock()
	info := new(gossip.ClusterInfo)
	for _, m := range members {
		member, err := m.member(m == leader)
		if err != nil {
			return nil, err
		}
		info.Members = append(info.Members, member)
	}
	return info, nil
}

func (s *Server) member(leader bool) (*gossip.MemberInfo, error) {
	s.mu.Lock()
	address, alive := s.address, s.running != nil
	s.mu.Unlock()
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, err
	}
	state := gossip.MemberInfo_Follower
	if leader {
		state = gossip.MemberInfo_Leader
	}
	return &gossip.MemberInfo{
		State: state, IsAlive: alive,
		HttpEndPoint: &gossip.EndPoint{Address: host, Port: uint32(port)},
	}, nil
}

// featuresService implements the ServerFeatures service.
type featuresService struct {
	serverfeatures.UnimplementedServerFeaturesServer
}

// GetSupportedMethods implements serverfeatures.ServerFeaturesServer.
func (*featuresService) GetSupportedMethods(context.Context, *shared.Empty) (*serverfeatures.SupportedMethods, error) {
	const service = "event_store.client.streams.streams"
	return &serverfeatures.SupportedMethods{
		EventStoreServerVersion: "24.10.0",
		Methods: []*serverfeatures.SupportedMethod{
			{ServiceName: service, MethodName: "append"},
			{ServiceName: service, MethodName: "read"},
		},
	}, nil
}
