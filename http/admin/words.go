package admin

import (
	"encoding/json"
	"slices"
	"strings"

	"annals/events"
)

// content are the fields of what was read from a file.
var content = fields{
	told:  "sha256 size media_type pages text_stream sections extractor text_bytes ocr_pages confidence unread_pages",
	words: "title description summary warnings",
}

// fields are the names of the fields of a type of event. told are shown to administrators. words
// may have words of a document, which nobody reads here: who wants them opens the document, and
// the access log then tells its owners. Names and tags are told, because listings and the audit
// trail tell them as well.
type fields struct{ told, words string }

// types are the fields of all types of events. Fields and types that are not here are not shown.
var types = map[string]fields{
	"SectionExtracted": {told: "index part level start_page end_page page_breaks ocr confidence", words: "title path text"},

	"DocumentImported": {told: "version folder name tags " + content.told, words: content.words},
	"DocumentRevised":  {told: "version " + content.told, words: content.words},
	"DocumentReread":   {told: "version " + content.told, words: content.words},
	"DocumentRenamed":  {told: "version name"},
	"DocumentMoved":    {told: "version folder"},
	"DocumentTagged":   {told: "version tags"},
	"DocumentDeleted":  {told: "version"},

	"FolderCreated":            {told: "folder parent name owner"},
	"FolderRenamed":            {told: "folder name"},
	"FolderMoved":              {told: "folder parent owner"},
	"FolderShared":             {told: "folder permissions invitations"},
	"FolderInvitationAccepted": {told: "folder principal access by"},
	"FolderInvitationDeclined": {told: "folder principal by"},
	"FolderLeft":               {told: "folder principal"},
	"InviterUnblocked":         {told: "principal by"},
	"FolderDeleted":            {told: "folder"},

	"FileAccepted":    {told: "file name folder tags sha256 size media_type refused under rest document version replace existing reread"},
	"ImportRequested": {told: "files user groups admin"},
	"FileStarted":     {told: "file alone"},
	"FileStepped":     {told: "file step message"},
	"FileImported":    {told: "file document duplicate outcome", words: "title warnings"},
	"FileFailed":      {told: "file error kind"},
	"JobFinished":     {told: "successful failed"},
}

// tell returns the data of an event without what is not shown of it, and says what that is and
// why; withheld is "" if all is shown. Data is null if nothing is shown.
func tell(r events.Record) (data json.RawMessage, withheld string) {
	null := json.RawMessage("null")
	of, known := types[r.Type]
	if !known {
		return null, "all, because this version of Annals does not know the type"
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(r.Data, &all); err != nil {
		return null, "all, because the data cannot be read"
	}
	told := strings.Fields(of.told)
	var left []string
	for name := range all {
		if !slices.Contains(told, name) {
			left = append(left, name)
			delete(all, name)
		}
	}
	data, err := json.Marshal(all)
	switch {
	case err != nil:
		return null, "all, because the data cannot be written"
	case len(data) > maxData:
		return null, "all, because it is too long"
	case len(left) > 0:
		slices.Sort(left)
		withheld = strings.Join(left, ", ") + ": words of a document"
	}
	return data, withheld
}
