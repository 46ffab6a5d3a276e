package mcp

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"annals/events/fault"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const markdownType = "text/markdown"

// addResources registers all resources with readResource as their handler.
func (h *Handler) addResources(s *sdk.Server) {
	for _, r := range []sdk.Resource{
		{URI: "service://folders", Name: "folders", Title: "Folders", Description: "The paths of all folders that you may read."},
		{URI: "service://tags", Name: "tags", Title: "Tags", Description: "The tags of all documents that you may read."},
	} {
		r.URI, r.MIMEType = h.named(r.URI), markdownType
		s.AddResource(&r, h.readResource)
	}
	for _, t := range []sdk.ResourceTemplate{
		{URITemplate: "service://folders/{folder_name}", Name: "folder", Title: "Documents in a folder",
			Description: "The documents directly in a folder, and the folders below it. The slashes of its path are percent-encoded: Contracts%2F2026."},
		{URITemplate: "service://tags/{tag_name}", Name: "tag", Title: "Documents with a tag", Description: "The documents that have a tag."},
		{URITemplate: "service://documents/{document_id}/content", Name: "document", Title: "Text of a document",
			Description: "The text of a document as Markdown. A long one comes in pages: the last line of each names the URI of the next."},
	} {
		t.URITemplate, t.MIMEType = h.named(t.URITemplate), markdownType
		s.AddResourceTemplate(&t, h.readResource)
	}
}

// request is a parsed request for a resource.
type request struct{ uri, kind, name, cursor string }

type requestKey struct{}

// withResource adds the parsed request to ctx. It also replaces the URI in params by one that
// matches a template of the MCP library: templates support neither a cursor nor a slash in a
// folder path.
func (h *Handler) withResource(ctx context.Context, params *sdk.ReadResourceParams) (context.Context, error) {
	a := request{uri: params.URI}
	path, query, _ := strings.Cut(strings.TrimPrefix(a.uri, h.Scheme+"://"), "?")
	kind, rest, _ := strings.Cut(path, "/")
	name, err := url.PathUnescape(rest)
	values, bad := url.ParseQuery(query)
	if err != nil || bad != nil || !strings.HasPrefix(a.uri, h.Scheme+"://") {
		return ctx, h.resourceError(caller(ctx), a.uri, errNoResource)
	}
	a.kind, a.name, a.cursor = kind, name, values.Get("cursor")
	params.URI = h.Scheme + "://" + a.plain()
	return context.WithValue(ctx, requestKey{}, a), nil
}

// plain returns the path of a resource in the form that its template matches.
func (a request) plain() string {
	if a.name == "" {
		return a.kind
	}
	name, content := a.name, ""
	if a.kind == "documents" {
		if id, ok := strings.CutSuffix(name, "/content"); ok {
			name, content = id, "/content"
		}
	}
	return a.kind + "/" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20") + content
}

// readResource handles a read of a resource. If the content does not fit in one reply, the
// reply ends with the URI of the next page.
func (h *Handler) readResource(ctx context.Context, _ *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	c, a := caller(ctx), ctx.Value(requestKey{}).(request)
	out, err := metered(h, c, tool{}, len(a.uri), func(call) (output, error) { return h.resource(c, a) })
	if err != nil {
		return nil, h.resourceError(c, a.uri, err)
	}
	text := out.markdown()
	if p, ok := out.(paged); ok && p.next() != "" {
		text += fmt.Sprintf("\n\n[There is more: read %s://%s?cursor=%s]\n", h.Scheme, a.plain(), url.QueryEscape(p.next()))
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: a.uri, MIMEType: markdownType, Text: text}}}, nil
}

var errNoResource = fault.Errorf(fault.NotFound, "there is no such resource; resources/list and resources/templates/list list the existing ones")

// resource returns the content of the requested resource.
func (h *Handler) resource(c call, a request) (output, error) {
	id, whole := strings.CutSuffix(a.name, "/content")
	switch {
	case a.kind == "folders" && a.name == "":
		return h.listFolders(c, pageIn{a.cursor})
	case a.kind == "folders":
		return h.listByFolder(c, byFolderIn{a.name, a.cursor})
	case a.kind == "tags" && a.name == "":
		return h.listTags(c, pageIn{a.cursor})
	case a.kind == "tags":
		return h.listByTag(c, byTagIn{a.name, a.cursor})
	case a.kind == "documents" && whole:
		return h.markdown(c, markdownIn{documentIn{id}, a.cursor})
	}
	return nil, errNoResource
}

func (h *Handler) resourceError(c call, uri string, err error) error {
	return h.protocolError(c, "resources/read", err, map[string]string{"uri": uri})
}
