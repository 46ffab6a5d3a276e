package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/meilisearch/meilisearch-go"

	"annals/events/fault"
	"annals/projections/searchindex"
)

// errNotMeilisearch says that something else answered, or Meilisearch something
// else than it says that it does.
var errNotMeilisearch = errors.New("the answer is none of Meilisearch's")

// taskError tells why a task changed nothing.
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

// codeOf returns the code by which Meilisearch names an error, "" for others.
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

// passes reports whether an error may be gone at the next try: there was no
// answer, or one that was not Meilisearch's own.
func passes(err error) bool {
	if errors.Is(err, errNotMeilisearch) {
		return true
	}
	api := (*meilisearch.Error)(nil)
	if !errors.As(err, &api) {
		// The client returns errors of an answer that broke off as they are.
		return err != nil && !errors.As(err, new(*taskError))
	}
	switch {
	case api.ErrCode == meilisearch.MeilisearchCommunicationError, api.ErrCode == meilisearch.MeilisearchTimeoutError,
		api.ErrCode == meilisearch.ErrCodeResponseUnmarshalBody:
		return true
	case api.MeilisearchApiError.Code == "":
		return true // a proxy before it
	}
	switch api.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

const away = "the search engine does not answer at the moment"

// kind gives an error the kind by which it is told.
func kind(err error) error {
	switch code := codeOf(err); {
	case err == nil, errors.Is(err, searchindex.ErrDamaged):
		return err
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, new(*fault.Error)):
		return err
	case code == "invalid_api_key", code == "missing_authorization_header":
		return fault.Hide(fault.Unavailable, "the search engine does not accept the key that it is asked with", err)
	case code == "no_space_left_on_device", code == "database_size_limit_reached", code == "too_many_open_files", code == "io_error":
		return fault.Hide(fault.Unavailable, "the search engine has no room for more at the moment", err)
	case code == "task_not_found":
		return fault.Hide(fault.Unavailable, "the search engine has forgotten a change that it took", err)
	case passes(err), errors.Is(err, context.DeadlineExceeded):
		return fault.Hide(fault.Unavailable, away, err)
	case errors.As(err, new(*taskError)) && code == "":
		return fault.Hide(fault.Unavailable, "a change of the search index was canceled on its server", err)
	}
	return err
}
