package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"annals/events/fault"
	"annals/projections/searchindex"

	"github.com/meilisearch/meilisearch-go"
)

// errUnexpectedReply is returned if a reply does not have the form that Meilisearch
// documents. A program other than Meilisearch may be listening at the address.
var errUnexpectedReply = errors.New("the reply is not from Meilisearch: check the address in --search")

// taskError says why a task changed nothing.
type taskError struct {
	status        meilisearch.TaskStatus
	code, message string
}

func (e *taskError) Error() string {
	if e.status == meilisearch.TaskStatusCanceled {
		return "the task was canceled"
	}
	return fmt.Sprintf("the task failed: %s (%s)", e.message, e.code)
}

// codeOf returns the error code that Meilisearch returned, or "" if an error has none.
func codeOf(err error) string {
	if task := (*taskError)(nil); errors.As(err, &task) {
		return task.code
	}
	if api := (*meilisearch.Error)(nil); errors.As(err, &api) {
		return api.MeilisearchApiError.Code
	}
	return ""
}

func isCode(err error, code string) bool { return err != nil && codeOf(err) == code }

// transient reports whether a retry may help, because there was no reply, or the reply
// did not come from Meilisearch itself.
func transient(err error) bool {
	if errors.Is(err, errUnexpectedReply) {
		return true
	}
	api := (*meilisearch.Error)(nil)
	if !errors.As(err, &api) {
		// The client returns the error of a truncated reply unwrapped, so every other
		// error counts as transient.
		return err != nil && !errors.As(err, new(*taskError))
	}
	switch {
	case api.ErrCode == meilisearch.MeilisearchCommunicationError, api.ErrCode == meilisearch.MeilisearchTimeoutError,
		api.ErrCode == meilisearch.ErrCodeResponseUnmarshalBody:
		return true
	case api.MeilisearchApiError.Code == "":
		return true // the reply is from a proxy in front of the server
	}
	switch api.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

const unreachable = "the search engine does not respond at the moment"

// classify sets the kind of an error, such as fault.Unavailable.
func classify(err error) error {
	switch code := codeOf(err); {
	case err == nil, errors.Is(err, searchindex.ErrDamaged):
		return err
	case errors.Is(err, context.Canceled), errors.As(err, new(*fault.Error)):
		return err
	case code == "invalid_api_key", code == "missing_authorization_header":
		return fault.Hide(fault.Unavailable, "the search engine rejects the API key: check the key in --search", err)
	case code == "no_space_left_on_device", code == "database_size_limit_reached", code == "too_many_open_files", code == "io_error":
		return fault.Hide(fault.Unavailable, "the search engine has no space left at the moment", err)
	case code == "task_not_found":
		return fault.Hide(fault.Unavailable, "the search engine has lost an accepted change", err)
	case errors.Is(err, errStillQueued):
		return fault.Hide(fault.Unavailable, "the search engine has not indexed the latest changes yet", err)
	case transient(err), errors.Is(err, context.DeadlineExceeded):
		return fault.Hide(fault.Unavailable, unreachable, err)
	case errors.As(err, new(*taskError)) && code == "":
		return fault.Hide(fault.Unavailable, "a change of the search index was canceled on its server", err)
	}
	return err
}
