// Package listing reads what a client wants of a listing of the vault: its order, its filters, and what its entries
// include. It imports http/form and queries/vault.
package listing

import (
	"slices"
	"strings"
	"unicode/utf8"

	"annals/http/form"
	"annals/queries/vault"
)

// Documents is the query of GET /documents.
type Documents struct {
	vault.DocumentFilter
	Size, Tags bool // entries have the size, or the tags
	Count      bool // the reply says how many documents there are on all pages
}

// maxName is the maximum length of the parameter name, in characters.
const maxName = 255

// The values of the parameter include.
const (
	size  = "size"
	tags  = "tags"
	count = "count"
)

// ReadDocuments reads the query of GET /documents. It adds errors to f.
func ReadDocuments(f *form.Query, pageSize int) (d Documents) {
	d.DocumentFilter = vault.DocumentFilter{
		Folder: f.ID("folderId"), Tag: f.Text("tag"), Name: f.Text("name"), Limit: f.Limit(pageSize), Cursor: f.Text("cursor"),
		Sort: vault.Sort(f.Text("sort")),
	}
	if utf8.RuneCountInString(d.Name) > maxName {
		f.Refuse("name must be shorter than or equal to %d characters", maxName)
	}
	if d.Sort != "" && !slices.Contains(vault.Sorts, d.Sort) {
		f.Refuse("sort must be one of the following values: name, createdAt, updatedAt, size")
	}
	switch f.Text("order") {
	case "", "asc":
	case "desc":
		d.Desc = true
	default:
		f.Refuse("order must be one of the following values: asc, desc")
	}
	include := f.Text("include")
	for value := range strings.SplitSeq(include, ",") {
		switch value {
		case size:
			d.Size = true
		case tags:
			d.Tags = true
		case count:
			d.Count = true
		default:
			if include != "" {
				f.Refuse("each value in include must be one of the following values: size, tags, count")
				return d
			}
		}
	}
	return d
}
