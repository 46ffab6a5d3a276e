package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"annals/cmd/annals/mirror"
)

// folderAt returns the id of the folder of a full path; found is false where there
// is none that may be read.
func (c *vaultClient) folderAt(ctx context.Context, path string) (id string, found bool, err error) {
	var list []vaultFolder
	a, err := c.call(ctx, patiently, c.request(ctx, http.MethodGet, "/folders?"+url.Values{"path": {path}}.Encode(), "", nil))
	if err == nil {
		err = a.decode(&list)
	}
	if err != nil || len(list) != 1 {
		return "", false, err
	}
	return list[0].ID, true, nil
}

// Subfolders and Documents make the client a mirror.Lister.
func (c *vaultClient) Subfolders(ctx context.Context, folder string) (all []mirror.Folder, err error) {
	err = c.pages(ctx, "/folders?", url.Values{"parentFolderId": {folder}}, func(a *answer) error {
		var page []mirror.Folder
		err := a.decode(&page)
		all = append(all, page...)
		return err
	})
	return all, err
}

// Documents lists the documents that are directly in a folder.
func (c *vaultClient) Documents(ctx context.Context, folder string) (all []mirror.Document, err error) {
	err = c.pages(ctx, "/documents?", url.Values{"folderId": {folder}}, func(a *answer) error {
		var page []struct {
			ID, Name, CreatedAt, SHA256 string
			Version                     int
		}
		err := a.decode(&page)
		for _, d := range page {
			all = append(all, mirror.Document{ID: d.ID, Path: d.Name, SHA256: d.SHA256, Version: d.Version, Created: d.CreatedAt})
		}
		return err
	})
	return all, err
}

// pages calls each with every page of a listing.
func (c *vaultClient) pages(ctx context.Context, path string, where url.Values, each func(*answer) error) error {
	const limit = 1000
	where.Set("limit", strconv.Itoa(limit))
	for {
		a, err := c.call(ctx, patiently, c.request(ctx, http.MethodGet, path+where.Encode(), "", nil))
		if err == nil {
			err = each(a)
		}
		if err != nil {
			return err
		}
		cursor := nextCursor(a.header.Get("Link"))
		if cursor == "" || cursor == where.Get("cursor") {
			return nil
		}
		where.Set("cursor", cursor)
	}
}

// nextCursor returns the cursor in the Link header of a listing, "" at its end. The
// address that it names is not called: it is that of the server's own view.
func nextCursor(link string) string {
	address, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Query().Get("cursor")
}

// makeFolder makes a folder, or returns that of the path where there is one by now.
func (c *vaultClient) makeFolder(ctx context.Context, parent, name, path string) (id string, err error) {
	body, err := json.Marshal(map[string]string{"name": name, "parentFolderId": parent})
	if err != nil {
		return "", err
	}
	a, err := c.call(ctx, patiently, c.request(ctx, http.MethodPost, "/folders", "", body))
	if isRefusal(err, http.StatusConflict) {
		if id, found, errFind := c.folderAt(ctx, path); found || errFind != nil {
			return id, errFind
		}
	}
	if err != nil {
		return "", err
	}
	var made vaultFolder
	if err = a.decode(&made); err == nil && made.ID == "" {
		err = fmt.Errorf("the reply of %s names no folder", a.url)
	}
	return made.ID, err
}

// moveDocument gives a document a name and a folder, if it is at its version still.
// A reply that was lost is made good.
func (c *vaultClient) moveDocument(ctx context.Context, d mirror.Document, name, folder string) error {
	body, err := json.Marshal(map[string]string{"name": name, "folderId": folder})
	if err != nil {
		return err
	}
	path := "/documents/" + url.PathEscape(d.ID)
	_, err = c.call(ctx, patiently, c.request(ctx, http.MethodPatch, path, quotedVersion(d), body))
	if !isRefusal(err, http.StatusConflict) {
		return err
	}
	var now struct {
		Name, FolderID string
		Version        int
	}
	if errNow := c.get(ctx, path, &now); errNow == nil && now.Name == name && now.FolderID == folder && now.Version == d.Version+1 {
		return nil
	}
	return err
}

// deleteDocument deletes a document, if it is at its version still.
func (c *vaultClient) deleteDocument(ctx context.Context, d mirror.Document) error {
	_, err := c.call(ctx, patiently, c.request(ctx, http.MethodDelete, "/documents/"+url.PathEscape(d.ID), quotedVersion(d), nil))
	if isRefusal(err, http.StatusNotFound) {
		return nil
	}
	return err
}

func quotedVersion(d mirror.Document) string { return strconv.Quote(strconv.Itoa(d.Version)) }
