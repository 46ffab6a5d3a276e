package console

import (
	"errors"
	"net/http"
	"net/url"
	"time"
)

// deletedDocument is a deleted document that the visitor may restore or has restored.
type deletedDocument struct {
	ID         string    `json:"-"`
	Name       string    `json:"name"`
	DeletedAt  time.Time `json:"deletedAt"`
	KeptUntil  time.Time `json:"keptUntil"`
	RestoredAs string    `json:"restoredAs"`
}

// restoring returns the call that restores a deleted document.
func restoring(id string) call {
	return call{method: "POST", path: "/vault/documents/" + url.PathEscape(id) + "/restore"}
}

// deleted reads a deleted document. The error is a *problem if the visitor may not restore it.
func (v *visit) deleted(id string) (*deletedDocument, error) {
	d := deletedDocument{ID: id}
	q := restoring(id)
	q.query = url.Values{"dryRun": {"true"}}
	_, err := v.send(v.Context(), q, &d)
	return &d, err
}

// outcome returns the outcome that the address names. After a deletion it has what can be
// restored.
func (v *visit) outcome() (*outcome, error) {
	o, id := outcomeOf(v.URL.Query()), v.URL.Query().Get("deleted")
	if o == nil || id == "" {
		return o, nil
	}
	d, err := v.deleted(id)
	if _, told := refusal(err); err != nil && !told {
		return nil, err
	}
	if err == nil {
		o.Deleted = d
	}
	return o, nil
}

// orDeleted returns a handler of a page of a document, which tells those who may restore the
// document that it was deleted, and how it comes back.
func orDeleted(handle func(*Console, *visit) error) func(*Console, *visit) error {
	return func(c *Console, v *visit) error {
		err := handle(c, v)
		var missing, refused *problem
		if !errors.As(err, &missing) || missing.Status != http.StatusNotFound {
			return err
		}
		d, why := v.deleted(v.id())
		switch {
		case why == nil:
			c.show(v, http.StatusGone, "deleted", page{Title: d.Name, Section: "folders", Content: d})
			return nil
		case errors.As(why, &refused) && refused.Status == http.StatusGone:
			return refused
		}
		return err
	}
}

// restore restores a deleted document, and shows the import that does so.
func (c *Console) restore(v *visit) error {
	var j job
	if _, err := v.change(restoring(v.id()), &j); err != nil {
		return err
	}
	redirect(v.w, "/import/"+j.ID)
	return nil
}
