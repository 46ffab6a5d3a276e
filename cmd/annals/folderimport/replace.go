package folderimport

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"annals/cmd/annals/client"
	"annals/cmd/annals/folderimport/mirror"
	"annals/cmd/annals/terminal"
	"annals/events"
)

// replaceByID replaces the content of the document d with that of a file. It is used if
// several documents have the name of the file, because an ordinary upload would replace
// the newest of them. done is false if the file failed; the failure is then recorded.
func (f *folderImport) replaceByID(ctx context.Context, file localFile, d mirror.Document) (done bool, err error) {
	var job string
	sum, err := hashFile(ctx, f.tree.path(file))
	if err != nil {
		err = &client.FileError{Path: f.tree.path(file), Err: err}
	} else {
		job, err = f.vault.ReplaceContent(ctx, d.ID, d.Version, f.tree.path(file), sum)
	}
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case client.BlamesRequest(err), client.IsRefusal(err, http.StatusNotFound), errors.As(err, new(*client.FileError)):
		return false, f.fail(reasonOf(err), file)
	case err != nil:
		return false, fmt.Errorf("replace document %s: %w", terminal.Printable(d.Path), err)
	}
	if job != "" {
		if err := f.state.sent(job, []localFile{file}, []string{sum}); err != nil {
			return false, err
		}
		return true, f.await(ctx, batch{job, []localFile{file}})
	}
	noted, _ := f.state.noted(file)
	return true, f.note("", outcome{
		localFile: file, Document: d.ID, Outcome: events.OutcomeUpdated, SHA256: sum, Version: d.Version + 1, Tags: noted.Tags,
		Made: noted.Made && noted.Document == d.ID,
	})
}
