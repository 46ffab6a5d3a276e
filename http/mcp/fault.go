package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"annals/events/fault"
	httpd "annals/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// codes is where kinds of errors meet the protocol's codes, for what is no
// tool: the errors of tools are results.
var codes = map[fault.Kind]int64{
	fault.Internal:        jsonrpc.CodeInternalError,
	fault.Invalid:         jsonrpc.CodeInvalidParams,
	fault.Unauthenticated: jsonrpc.CodeInvalidRequest,
	fault.Forbidden:       jsonrpc.CodeInvalidParams,
	fault.NotFound:        jsonrpc.CodeInvalidParams,
	fault.Conflict:        jsonrpc.CodeInvalidParams,
	fault.TooLarge:        jsonrpc.CodeInvalidParams,
	fault.Unavailable:     jsonrpc.CodeInternalError,
	fault.Canceled:        jsonrpc.CodeInternalError,
	fault.Exhausted:       jsonrpc.CodeInternalError,
}

// protocolError is how the protocol tells an error of what is no tool; about
// is what was asked for.
func (h *Handler) protocolError(c call, what string, err error, about any) error {
	data, _ := json.Marshal(about) // texts can always be encoded
	return &jsonrpc.Error{Code: codes[fault.KindOf(err)], Message: h.tell(c, what, err).Error(), Data: data}
}

// errFailed is what is told of a fault of our own.
var errFailed = errors.New("the service failed")

// tell returns of an error what its caller may know: the words of its outermost
// fault, and of a fault of our own only how to find it in the logs.
func (h *Handler) tell(c call, what string, err error) error {
	id := httpd.Correlation(c)
	kind := fault.KindOf(err)
	if c.Err() != nil || kind == fault.Canceled {
		return errors.New("the call was cut off: call again")
	}
	if kind == fault.Internal {
		h.Logger.ErrorContext(c, "call failed", "call", what, "error", err, "correlation_id", id)
		return fmt.Errorf("%w; whoever operates it finds out why by the request id %s", errFailed, id)
	}
	h.Logger.DebugContext(c, "call refused", "call", what, "error", err, "correlation_id", id)
	if kind == fault.Unavailable {
		return errors.New(told(err) + ". Call again in some seconds")
	}
	if kind == fault.Exhausted {
		return fmt.Errorf("%s. Call again in %d s", told(err), fault.RetryAfter(err)/time.Second)
	}
	return errors.New(told(err))
}

// told returns the words of an error's outermost fault.
func told(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind != fault.Internal {
		return f.Error()
	}
	return errFailed.Error()
}

// advise adds to an error of a kind what to do next.
func (h *Handler) advise(err error, kind fault.Kind, advice string) error {
	if !fault.Is(err, kind) {
		return err
	}
	return fault.Errorf(kind, "%s. %s", told(err), h.named(advice))
}
