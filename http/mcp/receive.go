package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"annals/events/fault"
	httpd "annals/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// errFailed is what is told of a fault of our own.
var errFailed = errors.New("the service failed")

// receive wraps every call of the protocol: it ends when its client leaves, and
// a panic is one call's fault alone, though the protocol's calls run on
// goroutines of their own.
func (h *Handler) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		c, ok := ctx.Value(callKey{}).(call)
		if !ok {
			return nil, errFailed
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.Context, cancel)()
		defer func() {
			if v := recover(); v != nil {
				h.Logger.ErrorContext(ctx, "call panicked", "method", method, "panic", v, "stack", string(debug.Stack()), "correlation_id", httpd.Correlation(ctx))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: errFailed.Error()}
			}
		}()
		if notOffered(method) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there is no " + method + " here"}
		}
		switch req := req.(type) {
		case *sdk.CallToolRequest:
			req.Params.Arguments = withoutNulls(req.Params.Arguments)
			result, err = next(ctx, method, req)
			explainArguments(req.Params.Name, result)
			return result, err
		case *sdk.ReadResourceRequest:
			if ctx, err = h.asking(ctx, req.Params); err != nil {
				return nil, err
			}
		}
		return next(ctx, method, req)
	}
}

// notOffered reports whether a method belongs to a part of the protocol that
// its library answers though it is not declared.
func notOffered(method string) bool {
	return strings.HasPrefix(method, "prompts/") || strings.HasPrefix(method, "logging/")
}

// caller returns the call that ctx belongs to.
func caller(ctx context.Context) call {
	c := ctx.Value(callKey{}).(call)
	c.Context = ctx
	return c
}

// withoutNulls leaves out arguments that are null: many clients write what is
// not given like that, and schemas that allow it are too much for some.
func withoutNulls(arguments json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if !bytes.Contains(arguments, []byte("null")) || json.Unmarshal(arguments, &fields) != nil {
		return arguments
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	given, err := json.Marshal(fields)
	if err != nil {
		return arguments
	}
	return given
}

// explainArguments says what to do about arguments that a tool's schema does
// not allow, which the protocol's library words for programmers.
func explainArguments(tool string, result sdk.Result) {
	r, ok := result.(*sdk.CallToolResult)
	if !ok || r == nil || !r.IsError || len(r.Content) != 1 {
		return
	}
	text, ok := r.Content[0].(*sdk.TextContent)
	if !ok {
		return
	}
	if why, found := strings.CutPrefix(text.Text, `validating "arguments": `); found {
		text.Text = "the arguments do not fit the input schema of " + tool + ": " + strings.TrimPrefix(why, "validating root: ") + ". Correct them and call again."
	}
}

// tell returns of an error what its caller may know: the words of its outermost
// fault, and of a fault of our own only how to find it in the logs.
func (h *Handler) tell(c call, what string, err error) error {
	id := httpd.Correlation(c)
	kind := fault.KindOf(err)
	if c.Err() != nil || kind == fault.Canceled {
		return errors.New("the call was cut off: call again")
	}
	if kind == fault.Internal {
		h.Logger.ErrorContext(c, "call failed", "call", what, "error", fault.Detail(err), "correlation_id", id)
		return fmt.Errorf("%w; whoever operates it finds out why by the request id %s", errFailed, id)
	}
	h.Logger.DebugContext(c, "call refused", "call", what, "error", fault.Detail(err), "correlation_id", id)
	if kind == fault.Unavailable {
		return errors.New(told(err) + ". Call again in some seconds")
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
