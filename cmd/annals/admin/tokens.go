package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"annals/events/fault"
	"annals/http/signin/accounts"
)

// CreateToken creates an API token for the account with the given name. It prints the
// token to out and a description of it to messages. If service is set, the account must
// be a service account; if it does not exist, it is created.
func CreateToken(ctx context.Context, store *accounts.Store, name string, service bool, token accounts.NewAPIToken, out, messages io.Writer) error {
	account, err := tokenOwner(ctx, store, name, service, messages)
	if err != nil {
		return err
	}
	token.User = account.Name
	secret, made, err := store.CreateToken(ctx, token, time.Now())
	if err != nil {
		return err
	}
	if err := describeToken(messages, account, made); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, secret)
	return err
}

// tokenOwner returns the account that a new token is for. If service is set and the
// account does not exist, it creates a service account.
func tokenOwner(ctx context.Context, store *accounts.Store, name string, service bool, messages io.Writer) (accounts.Account, error) {
	account, err := store.Get(ctx, name)
	switch {
	case fault.Is(err, fault.NotFound) && service:
		if account, err = store.Create(ctx, accounts.NewAccount{Name: name, Service: true}); err == nil {
			fmt.Fprintf(messages, "created service %s\n", account.Name)
		}
		return account, err
	case fault.Is(err, fault.NotFound):
		return account, fault.Errorf(fault.NotFound, "%w; \"annals user list\" shows all users, and --for service creates a service account for a program", err)
	case err != nil:
		return account, err
	case service && !account.Service:
		return account, fault.Errorf(fault.Conflict, "%q is a user, not a service: leave out --for service, or choose another name", account.Name)
	case !service && account.Service:
		return account, fault.Errorf(fault.Conflict, "%q is a service: add --for service", account.Name)
	}
	return account, nil
}

// describeToken prints what a new token may do, and how to revoke it.
func describeToken(w io.Writer, account accounts.Account, t accounts.APIToken) error {
	kind := "user"
	if t.Service {
		kind = "service"
	}
	_, err := fmt.Fprintf(w, "token %s of %s %s, scope %s, valid until %s. It is not shown again. To revoke it: annals token revoke %s\n",
		t.ID, kind, t.User, t.Scope, t.Expires.Format(time.DateOnly), t.ID)
	if account.Admin && err == nil {
		_, err = fmt.Fprintf(w, "%s is an administrator: with this token anyone can read everything, and with the scope write also change everything.\n", account.Name)
	}
	return err
}

// shownToken is a token as --json prints it.
type shownToken struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Service bool       `json:"service"`
	Scope   string     `json:"scope"`
	Created time.Time  `json:"created"`
	Expires time.Time  `json:"expires"`
	Expired bool       `json:"expired"`
	Used    *time.Time `json:"last_used"` // null means never
	Note    string     `json:"note"`
}

// PrintTokens prints API tokens, as a table or as one JSON object per line.
func PrintTokens(w io.Writer, all []accounts.APIToken, now time.Time, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(w)
		for _, t := range all {
			shown := shownToken{t.ID, t.User, t.Service, string(t.Scope), t.Created, t.Expires, now.After(t.Expires), nil, t.Note}
			if !t.Used.IsZero() {
				shown.Used = &t.Used
			}
			if err := out.Encode(shown); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tKIND\tSCOPE\tCREATED\tEXPIRES\tLAST USED\tNOTE")
	for _, t := range all {
		kind, used, expires := "user", "never", t.Expires.Format(time.DateOnly)
		if t.Service {
			kind = "service"
		}
		if !t.Used.IsZero() {
			used = t.Used.Format("2006-01-02 15:04")
		}
		if now.After(t.Expires) {
			expires += " (expired)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.User, kind, t.Scope, t.Created.Format(time.DateOnly), expires, used, t.Note)
	}
	return table.Flush()
}
