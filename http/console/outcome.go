package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// outcome tells what a form has done, on the page to which it leads.
type outcome struct {
	Sentence string
	Deleted  *deletedDocument // what was deleted and can be restored; nil for none
}

// outcomes are the sentences of outcomes. The address of a page has only the name of a
// sentence, because anybody can write an address.
var outcomes = map[string]string{
	"create": "The folder was created.", "name": "The name was changed.", "move": "It was moved.", "tags": "The tags were changed.",
	"content": "The document has its new content.", "reading": "The new content is being read. Until that is done, the old content stays.",
	"delete": "It was deleted.", "share": "The rights were changed.", "leave": "You have left the folder.",
	"accept": "You have accepted the invitation.", "decline": "You have declined the invitation.", "unblock": "Invitations of this user are shown again.",
	"rebuild": "The rebuild has begun.", "retry": "The read models that have parked events are being rebuilt, unless this version cannot read these events.",
	"soon": "This was accepted, and shows here in a moment.",
}

// outcomeOf returns the outcome that the parameters of an address name, or nil.
func outcomeOf(q url.Values) *outcome {
	text := outcomes[q.Get("done")]
	if text == "" {
		return nil
	}
	return &outcome{Sentence: text}
}

// done leads to a page that tells the outcome of a form. status is that of the reply of the
// REST interface.
func (v *visit) done(page, name string, status int) error {
	if status == http.StatusAccepted && name != "reading" {
		name = "soon"
	}
	sign := "?"
	if strings.Contains(page, "?") {
		sign = "&"
	}
	redirect(v.w, page+sign+"done="+name)
	return nil
}

// refusal returns the refusal that an error is, if it can be told beside the form.
func refusal(err error) (p *problem, told bool) {
	if !errors.As(err, &p) || p.Status == http.StatusUnauthorized || p.Status >= http.StatusInternalServerError && p.Status != http.StatusServiceUnavailable {
		return nil, false
	}
	return p, true
}

// refused is the part of a form's page that tells why the form was refused.
type refused struct {
	Problem *problem
	Stale   *conflict // nil if nothing was changed meanwhile
}

// conflict tells that something was changed between the time at which a form was loaded and
// the time at which it was sent.
type conflict struct {
	What   string // "document" or "folder"
	Rows   []comparison
	Events []change
}

// comparison is a part of a conflict: what is there now, and what the visitor wanted.
type comparison struct{ What, Now, Wanted string }

// change is something that happened meanwhile.
type change struct {
	Who, What string
	At        time.Time
}

// statusOf returns the status of a form's page.
func statusOf(p *problem) int {
	if p == nil {
		return http.StatusOK
	}
	return cmp.Or(p.Status, http.StatusOK)
}

// errNoForm is the error for a form that no page has.
var errNoForm = &problem{Status: http.StatusBadRequest, Sentence: "There is no such form. Go back, load the page again, and try once more."}

// change makes a call that changes something, and returns the status of its reply.
func (v *visit) change(q call, out any) (status int, err error) {
	q.status = &status
	_, err = v.send(v.Context(), q, out)
	return status, err
}

// orNull returns a text for JSON, or null if it is "".
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
