package main

import (
	"fmt"
	"math"

	"annals/commands"
	"annals/events"

	"github.com/spf13/pflag"
)

// sharingConfig is what serve can be told of who shares folders with whom, and
// who makes them at the top level.
type sharingConfig struct {
	shares, with, top string
	made, received    int
}

func (c *sharingConfig) bind(flags *pflag.FlagSet) {
	flags.StringVar(&c.shares, "shares", "invite", "what a share with a single user is: invite, which counts once they accept (at once if an administrator shares), or open, which counts at once")
	flags.StringVar(&c.with, "share-with", "anyone", "with whom owners share folders: anyone, own-groups (single users, and groups that they are in), or admins (administrators alone share)")
	flags.StringVar(&c.top, "top-level-folders", "everyone", "who makes folders at the top level: everyone, admins, or group:NAME and admins")
	flags.IntVar(&c.made, "max-invitations-made", commands.DefaultMostMade, "unanswered invitations by one user")
	flags.IntVar(&c.received, "max-invitations-received", commands.DefaultMostReceived, "unanswered invitations to one user")
}

// rules returns what the flags mean, and an error that names the first that
// means nothing.
func (c *sharingConfig) rules() (r commands.Rules, err error) {
	switch c.shares {
	case "invite":
	case "open":
		r.OpenShares = true
	default:
		return r, fmt.Errorf("--shares %s: must be invite or open", c.shares)
	}
	switch c.with {
	case "anyone":
	case "own-groups":
		r.ShareWith = commands.ShareWithOwnGroups
	case "admins":
		r.ShareWith = commands.ShareByAdmins
	default:
		return r, fmt.Errorf("--share-with %s: must be anyone, own-groups or admins", c.with)
	}
	switch group := events.Principal(c.top); {
	case c.top == "everyone":
	case c.top == "admins":
		r.TopLevel = commands.TopLevel{Restricted: true}
	case group.IsGroup():
		r.TopLevel = commands.TopLevel{Restricted: true, To: group}
	default:
		return r, fmt.Errorf("--top-level-folders %s: must be everyone, admins or group:NAME", c.top)
	}
	for flag, n := range map[string]int{"max-invitations-made": c.made, "max-invitations-received": c.received} {
		if n < 1 || n > math.MaxInt32 {
			return r, fmt.Errorf("--%s must be from 1 to %d", flag, math.MaxInt32)
		}
	}
	r.MostMade, r.MostReceived = c.made, c.received
	return r, nil
}
