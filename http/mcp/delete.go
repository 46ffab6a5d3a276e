package mcp

import (
	"context"
	"fmt"
	"strings"

	"annals/commands"
	"annals/events"
	"annals/events/fault"
	httpd "annals/http"
)

// maxDeleted is the maximum number of documents that one call can delete.
const maxDeleted = 100

var deleteTool = tool{
	name: "delete_documents", title: "Delete documents", effect: deletes,
	about: `Deletes 1 to 100 documents permanently, by their ids. You must own their folders. The result of each document says that it was deleted, or why not. ` +
		`Ask the person you work for before you call it; service_get_document_metadata shows what a document is and whether you own it.`,
}

type deleteIn struct {
	DocIDs []string `json:"doc_ids" jsonschema:"ids of the documents"`
}

type deleteOut struct {
	Results []deleted `json:"results" jsonschema:"the result of each document, in the order of doc_ids"`
}

type deleted struct {
	DocumentID string `json:"document_id" jsonschema:"id of the document"`
	Deleted    bool   `json:"deleted" jsonschema:"whether it was deleted"`
	Title      string `json:"title,omitempty" jsonschema:"title of the document, if you may read it"`
	FolderName string `json:"folder_name,omitempty" jsonschema:"path of its folder"`
	Error      string `json:"error,omitempty" jsonschema:"why it was not deleted"`
}

// deleteDocuments deletes documents one by one. It returns when all read models have applied
// the deletions, or after h.Await.
func (h *Handler) deleteDocuments(c call, in deleteIn) (out deleteOut, err error) {
	var last events.Position
	seen := make(map[string]bool)
	for _, id := range in.DocIDs {
		if seen[id] {
			continue
		}
		seen[id] = true
		one, at := h.deleteDocument(c, id)
		out.Results = append(out.Results, one)
		last = max(last, at)
	}
	if last > 0 {
		h.awaitWrite(c, last)
	}
	return out, nil
}

// awaitWrite waits until the agent can read a write, but no longer than h.Await. A timeout is
// not an error, because the write has succeeded.
func (h *Handler) awaitWrite(c call, at events.Position) {
	bounded, cancel := context.WithTimeout(c, h.Await)
	defer cancel()
	_ = h.Queries.AwaitWrite(bounded, at)
}

func (h *Handler) deleteDocument(c call, text string) (one deleted, at events.Position) {
	one.DocumentID = text
	d, err := h.describe(c, deleteTool.name, text)
	if err == nil {
		one.Title, one.FolderName = d.Title, d.FolderShown
		at, err = h.Commands.DeleteDocument(c, c.user, httpd.Correlation(c), commands.DeleteDocument{ID: d.ID, Version: d.Version})
		h.record(c, deleteTool.name, "", d.ID, err)
		err = h.advise(err, fault.Conflict, "Read it again, and then repeat the call.")
	}
	if one.Deleted = err == nil; !one.Deleted {
		one.Error = h.shown(c, deleteTool.name, err).Error()
	}
	return one, at
}

func (o deleteOut) markdown() string {
	var b strings.Builder
	for _, d := range o.Results {
		if d.Deleted {
			fmt.Fprintf(&b, "- deleted: **%s** `%s` from “%s”\n", inLine(d.Title), d.DocumentID, inLine(d.FolderName))
		} else {
			fmt.Fprintf(&b, "- not deleted: `%s`: %s\n", inLine(d.DocumentID), d.Error)
		}
	}
	return b.String()
}
