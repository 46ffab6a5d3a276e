package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const markdownType = "text/markdown"

// addResources tells which resources there are. readResource reads them all.
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

// readResource reads a resource. What has more behind it than fits one reading
// ends with the URI of the next.
func (h *Handler) readResource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	given := req.Params.URI
	path, query, _ := strings.Cut(strings.TrimPrefix(given, h.Scheme+"://"), "?")
	values, err := url.ParseQuery(query)
	if err != nil || !strings.HasPrefix(given, h.Scheme+"://") {
		return nil, h.resourceError(given, errNoResource)
	}
	c := caller(ctx)
	out, err := h.resource(c, path, values.Get("cursor"))
	if err != nil {
		if err != errNoResource {
			err = h.tell(c, "resources/read", err)
		}
		return nil, h.resourceError(given, err)
	}
	text := out.markdown()
	if p, ok := out.(paged); ok && p.next() != "" {
		text += fmt.Sprintf("\n\n[There is more: read %s://%s?cursor=%s]\n", h.Scheme, path, url.QueryEscape(p.next()))
	}
	return &sdk.ReadResourceResult{
		Cacheable: sdk.Cacheable{CacheScope: "private"},
		Contents:  []*sdk.ResourceContents{{URI: given, MIMEType: markdownType, Text: text}},
	}, nil
}

var errNoResource = errors.New("there is no such resource; resources/list and resources/templates/list tell those there are")

// resource returns what a path of ours, without the scheme, stands for. A
// folder's path may come with its slashes as they are.
func (h *Handler) resource(c call, path, cursor string) (output, error) {
	kind, rest, _ := strings.Cut(path, "/")
	name, err := url.PathUnescape(rest)
	if err != nil {
		return nil, errNoResource
	}
	id, whole := strings.CutSuffix(name, "/content")
	switch {
	case kind == "folders" && name == "":
		return h.listFolders(c, pageIn{cursor})
	case kind == "folders":
		return h.listByFolder(c, byFolderIn{name, cursor})
	case kind == "tags" && name == "":
		return h.listTags(c, pageIn{cursor})
	case kind == "tags":
		return h.listByTag(c, byTagIn{name, cursor})
	case kind == "documents" && whole:
		return h.markdown(c, markdownIn{documentIn{id}, cursor})
	}
	return nil, errNoResource
}

// resourceError is how the protocol tells that a resource cannot be read.
func (h *Handler) resourceError(uri string, err error) error {
	code := int64(sdk.CodeResourceNotFound)
	if errors.Is(err, errFailed) {
		code = jsonrpc.CodeInternalError
	}
	data, _ := json.Marshal(map[string]string{"uri": uri}) // texts can always be encoded
	return &jsonrpc.Error{Code: code, Message: err.Error(), Data: data}
}
