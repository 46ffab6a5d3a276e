package main

import (
	"fmt"
	"strings"

	"annals/http/signin"
)

// parseIssuer reads one --issuer.
func parseIssuer(text string) (signin.IssuerConfig, error) {
	var c signin.IssuerConfig
	for field := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(field, "=")
		if !ok || value == "" {
			return c, fmt.Errorf("--issuer %s: %q must be name=value", text, field)
		}
		switch name {
		case "url":
			c.URL = value
		case "alias":
			c.Alias = value
		case "audience":
			c.Audiences = append(c.Audiences, value)
		case "user-claim":
			c.UserClaim = value
		case "groups-claim":
			c.GroupsClaim = value
		case "admin-claim":
			c.AdminClaim = value
		case "admin-value":
			c.AdminValue = value
		default:
			return c, fmt.Errorf("--issuer %s: %q is not one of url, alias, audience, user-claim, groups-claim, admin-claim, admin-value", text, name)
		}
	}
	if c.URL == "" || c.Alias == "" || len(c.Audiences) == 0 {
		return c, fmt.Errorf("--issuer %s: url, alias and audience are needed", text)
	}
	return c, nil
}
