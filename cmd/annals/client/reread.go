package client

import (
	"context"
	"net/http"
)

// Reread chooses documents to read again: those with the given ids, or those that match the
// other fields.
type Reread struct {
	IDs      []string `json:"ids,omitempty"`
	FolderID string   `json:"folderId,omitempty"` // with the folders below it
	Scanned  bool     `json:"scanned,omitempty"`
	Outdated bool     `json:"outdated,omitempty"`
	DryRun   bool     `json:"dryRun,omitempty"`
	Cursor   string   `json:"cursor,omitempty"` // NextCursor of the last reply
}

// Rereading is the reply to a Reread.
type Rereading struct {
	Job        *Job       `json:"job"`
	Documents  []Document `json:"documents"` // of a dry run
	NextCursor string     `json:"nextCursor"`
}

// MaxReread is the maximum number of ids in a Reread.
const MaxReread = 100

// Reread starts a job that reads documents again. If only the reply is lost, it starts
// another one, which changes nothing that the first one has done.
func (c *Vault) Reread(ctx context.Context, which Reread) (r Rereading, err error) {
	_, err = c.Call(ctx, http.MethodPost, "/documents/reread", "", which, &r)
	return r, err
}
