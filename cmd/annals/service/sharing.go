package service

import (
	"fmt"
	"math"

	"annals/commands/foldertree"
	"annals/events"
)

// Sharing has the settings that decide who may share folders with whom, and who may
// create folders at the top level.
type Sharing struct {
	Shares   string // invite or open
	With     string // anyone, own-groups or admins
	TopLevel string // everyone, admins or group:NAME

	InvitationsMade, InvitationsReceived int // maximum number of invitations per user that are neither accepted nor declined
}

// Rules converts the settings to rules. If a setting is invalid, the error names the
// first invalid one.
func (c *Sharing) Rules() (r foldertree.Rules, err error) {
	switch c.Shares {
	case "invite":
	case "open":
		r.OpenShares = true
	default:
		return r, fmt.Errorf("--shares %s: must be invite or open", c.Shares)
	}
	switch c.With {
	case "anyone":
	case "own-groups":
		r.ShareWith = foldertree.ShareWithOwnGroups
	case "admins":
		r.ShareWith = foldertree.ShareByAdmins
	default:
		return r, fmt.Errorf("--share-with %s: must be anyone, own-groups or admins", c.With)
	}
	switch group := events.Principal(c.TopLevel); {
	case c.TopLevel == "everyone":
	case c.TopLevel == "admins":
		r.TopLevel = foldertree.TopLevel{Restricted: true}
	case group.IsGroup():
		r.TopLevel = foldertree.TopLevel{Restricted: true, To: group}
	default:
		return r, fmt.Errorf("--top-level-folders %s: must be everyone, admins or group:NAME", c.TopLevel)
	}
	for flag, n := range map[string]int{"max-invitations-made": c.InvitationsMade, "max-invitations-received": c.InvitationsReceived} {
		if n < 1 || n > math.MaxInt32 {
			return r, fmt.Errorf("--%s must be from 1 to %d", flag, math.MaxInt32)
		}
	}
	r.MaxSent, r.MaxReceived = c.InvitationsMade, c.InvitationsReceived
	return r, nil
}
