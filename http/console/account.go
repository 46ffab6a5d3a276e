package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"annals/http/console/trail"
)

// accountPage is the content of the page of the visitor's account.
type accountPage struct {
	Name    string
	Groups  []string
	Admin   bool
	Usage   []usage
	Offers  []invitationEntry
	Blocked []blockedEntry
	Done    *outcome
}

// blockedEntry is a user whose invitations are not shown.
type blockedEntry struct {
	Principal string    `json:"principal"`
	Since     time.Time `json:"since"`
}

// Who returns the name of the user.
func (b blockedEntry) Who() string { return trail.NameOf(b.Principal) }

// usage is what the visitor uses of a limit.
type usage struct {
	What, Used, Limit string // Limit is "" if there is none
	Percent           int
}

// usages are the limits that people ask for, in the order in which they are shown.
var usages = []struct{ name, what string }{{"bytes", "Storage"}, {"documents", "Documents"}, {"folders", "Folders"}, {"shares", "Shares"}}

// account shows who the visitor is, and what he uses.
func (c *Console) account(v *visit) error {
	var who struct {
		Name   string   `json:"name"`
		Groups []string `json:"groups"`
		Admin  bool     `json:"admin"`
	}
	if err := v.get("/vault/me", nil, &who); err != nil {
		return err
	}
	p := accountPage{Name: who.Name, Admin: who.Admin, Done: outcomeOf(v.URL.Query())}
	for _, group := range who.Groups {
		p.Groups = append(p.Groups, trail.NameOf(group))
	}
	var used map[string]struct {
		Used  float64  `json:"used"`
		Limit *float64 `json:"limit"`
	}
	if err := v.get("/vault/usage", nil, &used); err != nil {
		return err
	}
	for _, one := range usages {
		text := func(n float64) string { return strconv.FormatFloat(n, 'f', 0, 64) }
		if one.name == "bytes" {
			text = func(n float64) string { return sizeOf(int64(n)) }
		}
		u := usage{What: one.what, Used: text(used[one.name].Used)}
		if limit := used[one.name].Limit; limit != nil && *limit > 0 {
			u.Limit, u.Percent = text(*limit), min(100, int(100*used[one.name].Used / *limit))
		}
		p.Usage = append(p.Usage, u)
	}
	if err := v.get("/vault/invitations", nil, &p.Offers); err != nil {
		return err
	}
	if err := v.get("/vault/invitations/blocked", nil, &p.Blocked); err != nil {
		return err
	}
	c.show(v, http.StatusOK, "account", page{Title: "Account", Content: p})
	return nil
}

// unblock shows invitations of a user again whose invitation the visitor has declined.
func (c *Console) unblock(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	status, err := v.change(call{method: "DELETE", path: "/vault/invitations/blocked", query: url.Values{"principal": {form.Get("principal")}}}, nil)
	if err != nil {
		return err
	}
	return v.done("/account", "unblock", status)
}

// sizeOf returns a number of bytes as people say it.
func sizeOf(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, unit := float64(n), 0
	for units := len("kMGT"); size >= 999.5 && unit < units; unit++ {
		size /= 1000
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %cB", size, " kMGT"[unit])
	}
	return fmt.Sprintf("%.0f %cB", size, " kMGT"[unit])
}
