package mcp

import (
	"fmt"
	"slices"

	"annals/commands"
	"annals/events/fault"
	httpd "annals/http"

	"github.com/google/uuid"
)

var rereadTool = tool{
	name: "reread_documents", title: "Read documents again", effect: adds,
	about: `Reads the stored files of 1 to 100 documents again, by their ids, for example those with unread_pages in service_get_document_metadata after the operator has installed text recognition. ` +
		`You need write access to their folders, and each document counts as an import. It happens in the background: the tool returns a job_id immediately, for service_job_status. ` +
		`A document of which more or other text was read gets a new version; nothing is lost otherwise. If one of the documents cannot be read again, none is.`,
}

type rereadIn struct {
	DocIDs []string `json:"doc_ids" jsonschema:"ids of the documents"`
}

type rereadOut struct {
	JobID          string `json:"job_id" jsonschema:"id of the job, for service_job_status"`
	TotalDocuments int    `json:"total_documents" jsonschema:"number of documents"`

	advice string
}

// rereadDocuments starts a job that reads documents again.
func (h *Handler) rereadDocuments(c call, in rereadIn) (out rereadOut, err error) {
	var ids []uuid.UUID
	for _, text := range in.DocIDs {
		id, err := h.documentID(text)
		if err != nil {
			return out, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	started, documents, err := h.Commands.StartReread(c, c.user, httpd.Correlation(c), commands.RereadDocuments{IDs: ids})
	if err != nil {
		for _, id := range ids {
			h.record(c, rereadTool.name, "", id, err)
		}
		return out, h.advise(err, fault.NotFound, whichDocuments)
	}
	h.awaitWrite(c, started.Position)
	return rereadOut{started.Job.String(), documents, h.named("service_job_status shows its progress.")}, nil
}

func (o rereadOut) markdown() string {
	return fmt.Sprintf("Job `%s` reads %s again. %s", o.JobID, count(o.TotalDocuments, "document"), o.advice)
}
