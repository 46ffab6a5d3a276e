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

// codes are the JSON-RPC error codes for each kind of fault. They do not apply to tool calls,
// whose errors are results without a code.
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

// protocolError returns err as a JSON-RPC error, for requests other than tool calls. about
// becomes its data.
func (h *Handler) protocolError(c call, what string, err error, about any) error {
	data, _ := json.Marshal(about) // strings can always be encoded
	return &jsonrpc.Error{Code: codes[fault.KindOf(err)], Message: h.shown(c, what, err).Error(), Data: data}
}

// errFailed is what the caller sees of an internal error.
var errFailed = errors.New("the service failed")

// shown returns what the caller may see of an error: the message of its outermost fault.Error.
// For an internal error it returns the request id, with which operators find the error in the
// log.
func (h *Handler) shown(c call, what string, err error) error {
	id := httpd.Correlation(c)
	kind := fault.KindOf(err)
	if c.Err() != nil || kind == fault.Canceled {
		return errors.New("the call was cancelled: call again")
	}
	if kind == fault.Internal {
		h.Logger.ErrorContext(c, "call failed", "call", what, "error", err, "correlation_id", id)
		return fmt.Errorf("%w; the operator can find the cause in the log by the request id %s", errFailed, id)
	}
	h.Logger.DebugContext(c, "call refused", "call", what, "error", err, "correlation_id", id)
	if kind == fault.Unavailable {
		return errors.New(words(err) + ". Call again in a few seconds")
	}
	if kind == fault.Exhausted {
		return fmt.Errorf("%s. Call again in %d s", words(err), fault.RetryAfter(err)/time.Second)
	}
	return errors.New(words(err))
}

// words returns the message of the outermost fault.Error in err.
func words(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind != fault.Internal {
		return f.Error()
	}
	return errFailed.Error()
}

// advise adds advice to an error if it is of the given kind.
func (h *Handler) advise(err error, kind fault.Kind, advice string) error {
	if !fault.Is(err, kind) {
		return err
	}
	return fault.Errorf(kind, "%s. %s", words(err), h.named(advice))
}
