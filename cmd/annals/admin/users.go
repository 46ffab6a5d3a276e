package admin

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"annals/http/signin/accounts"
)

// ListUsers prints a table of all users.
func ListUsers(ctx context.Context, store *accounts.Store, out io.Writer) error {
	all, err := store.List(ctx)
	if err != nil {
		return err
	}
	factors, err := store.ListFactors(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tROLE\tSTATE\tCREATED\tSECOND FACTOR\tGROUPS")
	for _, a := range all {
		role, state := "user", "enabled"
		switch {
		case a.Admin && a.Service:
			role = "admin service"
		case a.Admin:
			role = "admin"
		case a.Service:
			role = "service"
		}
		if a.Disabled {
			state = "disabled"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", a.Name, role, state, a.Created.Format("2006-01-02"), shownFactors(factors[a.Name]), strings.Join(a.Groups, ", "))
	}
	return table.Flush()
}

// shownFactors lists the second factors of a user.
type shownFactors struct {
	Required bool `json:"required"`
	Codes    bool `json:"codes"`
	Passkeys int  `json:"passkeys"`
	Recovery int  `json:"recovery_codes"` // number of unused ones
}

func (f shownFactors) String() string {
	var all []string
	if f.Codes {
		all = append(all, "codes")
	}
	if f.Passkeys > 0 {
		all = append(all, fmt.Sprintf("passkeys:%d", f.Passkeys))
	}
	if f.Required {
		all = append(all, "required")
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ",")
}
