package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"annals/events/fault"
	httpd "annals/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// receive wraps every call of the protocol. It cancels the call when the client disconnects.
// It recovers from panics: calls run on goroutines of the MCP library, where a panic would end
// the process.
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
				result, err = nil, &jsonrpc.Error{Code: codes[fault.Internal], Message: errFailed.Error()}
			}
		}()
		c.batch.Lock()
		defer c.batch.Unlock()
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
			if ctx, err = h.withResource(ctx, req.Params); err != nil {
				return nil, err
			}
		}
		result, err = next(ctx, method, req)
		if list, ok := result.(*sdk.ListToolsResult); ok && err == nil && c.user.ReadOnly {
			list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool { return !t.Annotations.ReadOnlyHint })
		}
		return result, err
	}
}

// notOffered reports whether a method belongs to a capability that this server does not
// declare. The MCP library would handle such a method anyway.
func notOffered(method string) bool {
	return strings.HasPrefix(method, "prompts/") || strings.HasPrefix(method, "logging/")
}

// caller returns the call that ctx belongs to.
func caller(ctx context.Context) call {
	c := ctx.Value(callKey{}).(call)
	c.Context = ctx
	return c
}

// withoutNulls removes null members at any depth from the arguments of a call. Many clients
// send null for a missing argument, and some clients cannot handle schemas that allow null.
func withoutNulls(arguments json.RawMessage) json.RawMessage {
	if !bytes.Contains(arguments, []byte("null")) {
		return arguments
	}
	var given any
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	if d.Decode(&given) != nil {
		return arguments
	}
	if given == nil {
		given = map[string]any{}
	}
	dropNulls(given)
	kept, err := json.Marshal(given)
	if err != nil {
		return arguments
	}
	return kept
}

func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, field any) bool { return field == nil })
		for _, field := range v {
			dropNulls(field)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// explainArguments rewrites the MCP library's error for arguments that do not match the schema
// of a tool, so that an agent knows what to correct.
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
		text.Text = "the arguments do not fit the input schema of " + tool + ": " + ends(strings.TrimPrefix(why, "validating root: ")) + ". Correct them and call again."
	}
}
