package mcp

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxCompletions is the maximum number of completions in a reply (MCP specification).
const maxCompletions = 100

// complete completes names of folders and tags that the caller may read.
func (h *Handler) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	c := caller(ctx)
	found, err := metered(h, c, tool{}, len(req.Params.Argument.Value), func(call) ([]string, error) { return h.completions(c, req.Params) })
	if err != nil {
		return nil, h.protocolError(c, "completion/complete", err, req.Params.Argument)
	}
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{
		Values: found[:min(len(found), maxCompletions)], Total: len(found), HasMore: len(found) > maxCompletions,
	}}, nil
}

// completions returns the names that match an argument, however many.
func (h *Handler) completions(c call, p *sdk.CompleteParams) (names []string, err error) {
	switch argument := p.Argument.Name; {
	case p.Ref.URI == h.named("service://folders/{folder_name}") && argument == "folder_name":
		if names, err = h.Queries.FolderPaths(c, c.user); err == nil {
			names, err = h.Queries.ShownPaths(c, c.user, names)
			slices.Sort(names)
		}
	case p.Ref.URI == h.named("service://tags/{tag_name}") && argument == "tag_name":
		names, err = h.Queries.VisibleTags(c, c.user)
	}
	return matching(names, p.Argument.Value), err
}

// matching returns the names that contain the typed text, ignoring case. Names that begin with
// it come first.
func matching(names []string, typed string) []string {
	typed = strings.ToLower(strings.TrimSpace(typed))
	prefixed, others := []string{}, []string{}
	for _, name := range names {
		switch at := strings.Index(strings.ToLower(name), typed); {
		case at == 0:
			prefixed = append(prefixed, name)
		case at > 0:
			others = append(others, name)
		}
	}
	return append(prefixed, others...)
}
