package eventstoredb

import (
	"errors"
	"testing"

	"google.golang.org/grpc/metadata"
)

func TestLeaderAddressIsDialable(t *testing.T) {
	for host, want := range map[string]string{"node-1.example.com": "node-1.example.com:2113", "10.0.0.1": "10.0.0.1:2113", "fd00::1": "[fd00::1]:2113"} {
		err := explained(errors.New("no leader"), metadata.Pairs("exception", exceptionNotLeader, "leader-endpoint-host", host, "leader-endpoint-port", "2113"))
		if other := (*notLeader)(nil); !errors.As(err, &other) || other.leader != want {
			t.Errorf("explained with the leader %s: got %v, want the address %s", host, err, want)
		}
	}
}
