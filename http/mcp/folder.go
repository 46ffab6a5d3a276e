package mcp

import (
	"fmt"
	"strings"

	"annals/commands/naming"
	"annals/events/fault"
	"annals/queries/vault"

	"github.com/google/uuid"
)

var listFoldersTool = tool{
	name: "list_folders", title: "List folders",
	about: `Lists the paths of all folders that you may read, each before its subfolders; a path begins at the topmost folder that you may read. Start here: pass one of them to service_list_documents_by_folder, ` +
		`or as folder_name to service_search and service_ask.`,
}

type pageIn struct {
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the last page; leave it out for the first"`
}

type foldersOut struct {
	Folders []string `json:"folders" jsonschema:"paths of folders, with their names separated by /"`
	more
}

func (h *Handler) listFolders(c call, in pageIn) (out foldersOut, err error) {
	last, err := parseCursor("folders", in.Cursor)
	if err != nil {
		return out, err
	}
	paths, err := h.Queries.FolderPage(c, c.user, last, namesPage+1) // if there is one more, there is a next page
	if len(paths) > namesPage {
		paths = paths[:namesPage]
		out.NextCursor = cursor("folders", paths[namesPage-1])
	}
	out.Folders = append([]string{}, paths...)
	return out, err
}

func (o foldersOut) markdown() string {
	if len(o.Folders) == 0 {
		return "There are no folders here that you may read."
	}
	return bullets(o.Folders)
}

var listByFolderTool = tool{
	name: "list_documents_by_folder", title: "List the documents in a folder",
	about: `Lists the documents directly in a folder, by name, and its subfolders. Take the path from service_list_folders; nested paths work. ` +
		`Pass the ids to service_get_document_markdown, service_get_document_metadata and, as document_id, to service_ask.`,
}

type byFolderIn struct {
	FolderName string `json:"folder_name" jsonschema:"path of the folder, such as Contracts/2026"`
	Cursor     string `json:"cursor,omitempty" jsonschema:"next_cursor of the last page; leave it out for the first"`
}

type byFolderOut struct {
	FolderName     string     `json:"folder_name" jsonschema:"path of the folder"`
	Subfolders     []string   `json:"subfolders" jsonschema:"paths of its subfolders, up to 500; only on the first page"`
	MoreSubfolders int        `json:"more_subfolders,omitempty" jsonschema:"number of further subfolders: service_list_folders lists all"`
	Documents      []document `json:"documents" jsonschema:"the documents directly in it"`
	more

	advice string
}

func (h *Handler) listByFolder(c call, in byFolderIn) (out byFolderOut, err error) {
	place, err := h.Queries.PlaceOf(c, c.user, in.FolderName)
	if err == nil && (place.Near == uuid.Nil || place.Rest != "") {
		err = fault.Errorf(fault.NotFound, "no folder %q", in.FolderName)
	}
	if err != nil {
		return out, h.advise(err, fault.NotFound, "service_list_folders lists those you may read.")
	}
	out.FolderName, out.Subfolders = strings.Trim(in.FolderName, "/ "), []string{}
	out.advice = h.named("service_list_folders lists all.")
	if path, err := naming.Folder(out.FolderName); err == nil {
		out.FolderName = path
	}
	if in.Cursor == "" {
		below, err := h.Queries.Folders(c, c.user, &place.Near)
		if err != nil {
			return out, err
		}
		listed := below[:min(len(below), namesPage)]
		out.MoreSubfolders = len(below) - len(listed)
		for _, f := range listed {
			out.Subfolders = append(out.Subfolders, out.FolderName+"/"+f.Name)
		}
	}
	out.Documents, out.more, err = h.documents(c, vault.DocumentFilter{Folder: &place.Near, Cursor: in.Cursor})
	return out, err
}

func (o byFolderOut) markdown() string {
	text := "No documents lie directly in “" + inLine(o.FolderName) + "”.\n"
	if len(o.Documents) > 0 {
		text = documentList(o.Documents)
	}
	if len(o.Subfolders) > 0 {
		text += "\nFolders below it:\n\n" + bullets(o.Subfolders)
	}
	if o.MoreSubfolders > 0 {
		text += fmt.Sprintf("\nand %d more: %s\n", o.MoreSubfolders, o.advice)
	}
	return text
}

// scope returns the path, from the top level, of the folder that an agent means by the given
// path.
func (h *Handler) scope(c call, folder string) (string, error) {
	if strings.Trim(folder, "/ ") == "" {
		return folder, nil
	}
	place, err := h.Queries.PlaceOf(c, c.user, folder)
	return place.Path, err
}
