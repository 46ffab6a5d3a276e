package console

import (
	"errors"
	"net/http"
	"net/url"

	"annals/http/console/administration"
)

// administrators returns the handler of a page that only administrators have. For others there
// is no such page.
func administrators(handle func(*Console, *visit) error) func(*Console, *visit) error {
	return func(c *Console, v *visit) error {
		hidden := &problem{Status: http.StatusNotFound, Sentence: "There is no such page, or you may not see it."}
		if !v.session.User.Admin {
			return hidden
		}
		err := handle(c, v)
		var p *problem
		if errors.As(err, &p) && p.Status == http.StatusForbidden {
			return hidden // no longer an administrator
		}
		return err
	}
}

// overview is the content of the first page of administrators.
type overview struct {
	administration.Overview
	Problem *problem // why a rebuild did not begin
	Done    *outcome
}

// admin shows the state of the service.
func (c *Console) admin(v *visit) error {
	return c.showAdmin(v, nil)
}

func (c *Console) showAdmin(v *visit, refused *problem) error {
	q := v.URL.Query()
	o, err := administration.ReadOverview(v.get, q.Get("only") == "models")
	if err != nil {
		return err
	}
	c.show(v, statusOf(refused), "admin", page{Title: "Service", Section: "admin", Scripts: []string{"admin.js"}, Content: overview{o, refused, outcomeOf(q)}})
	return nil
}

// rebuild begins to rebuild a read model.
func (c *Console) rebuild(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	return c.operate(v, "/core/admin/projections/"+url.PathEscape(form.Get("name"))+"/rebuild", "rebuild")
}

// retryParked applies parked events again.
func (c *Console) retryParked(v *visit) error {
	return c.operate(v, "/core/admin/parked/retry", "retry")
}

func (c *Console) operate(v *visit, path, done string) error {
	if _, err := v.send(v.Context(), call{method: http.MethodPost, path: path}, nil); err != nil {
		p, told := refusal(err)
		if !told || p.Status == http.StatusForbidden || p.Status == http.StatusNotFound {
			return err
		}
		return c.showAdmin(v, p)
	}
	return v.done("/admin", done, http.StatusOK)
}

// adminUsers shows the users and groups.
func (c *Console) adminUsers(v *visit) error {
	a, err := administration.ReadAccounts(v.get)
	var p *problem
	elsewhere := errors.As(err, &p) && p.Status == http.StatusNotFound
	if err != nil && !elsewhere {
		return err
	}
	c.show(v, http.StatusOK, "admin_users", page{Title: "Users and groups", Section: "admin", Content: struct {
		administration.Accounts
		Elsewhere bool // users sign in at an external issuer
	}{a, elsewhere}})
	return nil
}

// adminEvents shows the end of the log.
func (c *Console) adminEvents(v *visit) error {
	l, err := administration.ReadLog(v.get, "/admin/events", v.URL.Query())
	if err != nil {
		return err
	}
	c.show(v, http.StatusOK, "admin_events", page{Title: "Log", Section: "admin", Content: l})
	return nil
}
