package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"

	"annals/commands/naming"
)

// Document is a document of the vault.
type Document struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	FolderID  string `json:"folderId"`
	SHA256    string `json:"sha256"`
	Version   int    `json:"version"`
	CreatedAt string `json:"createdAt"`
}

// Documents lists the documents directly in a folder.
func (c *Vault) Documents(ctx context.Context, folder string) ([]Document, error) {
	return list[Document](ctx, c, "/documents", url.Values{"folderId": {folder}})
}

// MoveDocument changes the name and folder of a document if the document still has the
// given version. It also succeeds if an earlier attempt made this change and only the
// reply was lost.
func (c *Vault) MoveDocument(ctx context.Context, id string, version int, name, folder string) error {
	path := documentPath(id)
	_, err := c.Call(ctx, http.MethodPatch, path, quoted(version), map[string]string{"name": name, "folderId": folder}, nil)
	if !IsRefusal(err, http.StatusConflict) {
		return err
	}
	var now Document
	if errNow := c.Get(ctx, path, &now); errNow == nil && now.Name == name && now.FolderID == folder && now.Version == version+1 {
		return nil
	}
	return err
}

// DeleteDocument deletes a document if the document still has the given version. It
// also succeeds if the document is already deleted.
func (c *Vault) DeleteDocument(ctx context.Context, id string, version int) error {
	_, err := c.Call(ctx, http.MethodDelete, documentPath(id), quoted(version), nil, nil)
	if IsRefusal(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// ReplaceContent uploads a local file as the new content of a document if the document
// still has the given version. sum is the SHA-256 of the file. If the document has
// another version but its content has this sum, an earlier attempt succeeded and only
// its reply was lost: this is no error. If the server still imports the content when it
// replies, job is the id of the import job; otherwise job is "".
func (c *Vault) ReplaceContent(ctx context.Context, id string, version int, file, sum string) (job string, err error) {
	path := documentPath(id)
	reply, err := c.Do(ctx, func() (*http.Request, error) {
		in, err := os.Open(file)
		if err != nil {
			return nil, &FileError{file, err}
		}
		info, err := in.Stat()
		if err != nil {
			return nil, errors.Join(&FileError{file, err}, in.Close())
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, c.URL+path+"/content", in) // sending the request closes the file
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		r.ContentLength = info.Size()
		r.Header.Set("Content-Type", "application/octet-stream")
		r.Header.Set("If-Match", quoted(version))
		return r, nil
	})
	if IsRefusal(err, http.StatusConflict) {
		var now Document
		if errNow := c.Get(ctx, path, &now); errNow == nil && now.SHA256 == sum {
			return "", nil
		}
	}
	if err != nil {
		return "", err
	}
	var started struct {
		Job string `json:"job_id"`
	}
	err = reply.Decode(&started)
	return started.Job, err
}

// LacksTags reports whether a document lacks at least one of the tags.
func (c *Vault) LacksTags(ctx context.Context, id string, tags []string) (bool, error) {
	_, _, missing, err := c.missingTags(ctx, id, tags)
	return missing, err
}

// AddTags adds tags to a document. added is false if the document already had all of
// them.
func (c *Vault) AddTags(ctx context.Context, id string, tags []string) (added bool, err error) {
	for range 5 { // a concurrent change of the document causes a conflict: try again
		all, version, missing, errGet := c.missingTags(ctx, id, tags)
		if errGet != nil || !missing {
			return false, errGet
		}
		_, err = c.Call(ctx, http.MethodPut, documentPath(id)+"/tags", version, map[string]any{"tags": all}, nil)
		if !IsRefusal(err, http.StatusConflict) {
			return err == nil, err
		}
	}
	return false, err
}

// missingTags returns all tags: those of the document and the given ones. missing is
// true if the document lacks some of the given tags. version is the ETag of the
// document.
func (c *Vault) missingTags(ctx context.Context, id string, tags []string) (all []string, version string, missing bool, err error) {
	var now struct{ Tags []string }
	reply, err := c.Call(ctx, http.MethodGet, documentPath(id)+"/tags", "", nil, &now)
	if err != nil {
		return nil, "", false, err
	}
	all, err = naming.Tags(slices.Concat(now.Tags, tags))
	return all, reply.Header.Get("ETag"), len(all) > len(now.Tags), err
}

func documentPath(id string) string { return "/documents/" + url.PathEscape(id) }

func quoted(version int) string { return strconv.Quote(strconv.Itoa(version)) }
