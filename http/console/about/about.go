// Package about finds the folder or document that somebody names in a form. It asks the REST interface, so it finds only
// what the visitor may read. It imports no other package of this module.
package about

import (
	"net/url"
	"strconv"
	"strings"
)

// Get makes a GET of the REST interface and decodes the reply into out.
type Get func(path string, query url.Values, out any) error

// Thing is a folder or document.
type Thing struct {
	ID   string
	Name string
	Kind string // folder or document, as the parameter of the audit trail is called
}

// maxFound is the maximum number of documents that are told apart.
const maxFound = 20

// Find returns what is at a path: a folder, or else the document with the last name of the path in the folder before it
// or, if there is none, those with this text in their names. More reports that there are others.
func Find(get Get, path string) (found []Thing, more bool, err error) {
	path = strings.Trim(strings.TrimSpace(path), "/")
	whole, isFolder, err := folderAt(get, path)
	if err != nil {
		return nil, false, err
	}
	if isFolder {
		return []Thing{whole}, false, nil
	}
	slash := strings.LastIndexByte(path, '/')
	folder, inFolder, err := folderAt(get, path[:max(slash, 0)])
	if !inFolder || err != nil {
		return nil, false, err
	}
	name := path[slash+1:]
	var listed []struct{ ID, Name string }
	if err := get("/vault/documents", url.Values{"folderId": {folder.ID}, "name": {name}, "limit": {strconv.Itoa(maxFound + 1)}, "sort": {"name"}}, &listed); err != nil {
		return nil, false, err
	}
	if more = len(listed) > maxFound; more {
		listed = listed[:maxFound]
	}
	var same []Thing
	for _, d := range listed {
		thing := Thing{d.ID, d.Name, "document"}
		if found = append(found, thing); strings.EqualFold(d.Name, name) {
			same = append(same, thing)
		}
	}
	if len(same) == 1 {
		return same, false, nil
	}
	return found, more, nil
}

func folderAt(get Get, path string) (folder Thing, found bool, err error) {
	var listed []struct{ ID, Name string }
	if path == "" {
		return folder, false, nil
	}
	if err := get("/vault/folders", url.Values{"path": {path}}, &listed); err != nil || len(listed) == 0 {
		return folder, false, err
	}
	return Thing{listed[0].ID, listed[0].Name, "folder"}, true, nil
}
