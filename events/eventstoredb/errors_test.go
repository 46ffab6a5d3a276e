package eventstoredb

import (
	"errors"
	"testing"

	"google.golang.org/grpc/metadata"
)

func TestLeaderAddressIsDialable(t *testing.T) {
	for host, want := range map[string]string{"node-1.example.com": "node-1.example.com:2113", "10.0.0.1": "10.0.0.1:2113", "fd00::1": "[fd00::1]:2113"} {
		err := explained(errors.New("no leader"), metadata.Pairs("exception", isNotLeader, "leader-endpoint-host", host, "leader-endpoint-port", "2113"))
		if other := (*notLeader)(nil); !errors.As(err, &other) || other.leader != want {
			t.Errorf("a node that names %s as the leader: %v, want %s", host, err, want)
		}
	}
}
