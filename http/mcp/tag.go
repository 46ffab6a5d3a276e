package mcp

import (
	httpd "annals/http"
	"annals/queries/vault"
)

var listTagsTool = tool{
	name: "list_tags", title: "List tags",
	about: `Lists the tags of all documents that you may read, in order. Pass one of them to service_list_documents_by_tag, or several as tags to service_search.`,
}

type tagsOut struct {
	Tags []string `json:"tags" jsonschema:"the tags"`
	more
}

func (h *Handler) listTags(c call, in pageIn) (out tagsOut, err error) {
	tags, err := h.Queries.VisibleTags(c, c.user)
	if err != nil {
		return out, err
	}
	out.Tags, out.more, err = namePage("tags", tags, in.Cursor)
	return out, err
}

func (o tagsOut) markdown() string {
	if len(o.Tags) == 0 {
		return "No documents here that you may read have tags."
	}
	return bullets(o.Tags)
}

var listByTagTool = tool{
	name: "list_documents_by_tag", title: "List the documents with a tag",
	about: `Lists the documents with a tag in all folders, by name. Take the tag from service_list_tags. ` +
		`Pass the ids to service_get_document_markdown, service_get_document_metadata and, as document_id, to service_ask.`,
}

type byTagIn struct {
	TagName string `json:"tag_name" jsonschema:"the tag; upper and lower case are different"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"next_cursor of the last page; leave it out for the first"`
}

type byTagOut struct {
	TagName   string     `json:"tag_name" jsonschema:"the tag"`
	Documents []document `json:"documents" jsonschema:"the documents that have it"`
	more

	advice string
}

func (h *Handler) listByTag(c call, in byTagIn) (out byTagOut, err error) {
	out.TagName, out.advice = in.TagName, h.named("service_list_tags lists the existing tags.")
	out.Documents, out.more, err = h.documents(c, vault.DocumentFilter{Tag: httpd.NormalizeTag(in.TagName), Cursor: in.Cursor})
	return out, err
}

func (o byTagOut) markdown() string {
	if len(o.Documents) == 0 {
		return "No documents that you may read have the tag “" + inLine(o.TagName) + "”. " + o.advice
	}
	return documentList(o.Documents)
}
