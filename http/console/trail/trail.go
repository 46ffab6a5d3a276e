// Package trail prepares what the pages show of the audit trail. It imports no other package of
// this module.
package trail

import (
	"strings"
	"time"
)

// Entry is an entry of the audit trail in a reply of the REST interface.
type Entry struct {
	ID            string    `json:"id"`
	Time          time.Time `json:"time"`
	Actor         string    `json:"actor"`
	Via           string    `json:"via"`
	CorrelationID string    `json:"correlationId"`
	Type          string    `json:"type"`
	What          string    `json:"what"`
	DocumentID    string    `json:"documentId"`
	DocumentName  string    `json:"documentName"`
	FolderID      string    `json:"folderId"`
	FolderName    string    `json:"folderName"`
	JobID         string    `json:"jobId"`
	Address       string    `json:"address"`
	Count         int       `json:"count"`
}

// Who returns the name of the user who did it.
func (e Entry) Who() string {
	if e.Actor == "" {
		return "The service"
	}
	return NameOf(e.Actor)
}

// Sentence returns what was done as three parts: the text before the name of the document or
// folder, that name, and the text after it. The name is "" if the entry links to nothing.
func (e Entry) Sentence() (parts [3]string) {
	name := e.DocumentName
	if name == "" {
		name = e.FolderName
	}
	if e.Link() != "" && name != "" {
		if before, after, found := strings.Cut(e.What, `"`+name+`"`); found {
			return [3]string{before, name, after}
		}
	}
	return [3]string{e.What}
}

// restorable is the time after a deletion in which the page of the document may offer to restore
// it. Files are kept for a day, and deleted up to six hours later.
const restorable = 30 * time.Hour

// Link returns the address of what the entry is about, or "".
func (e Entry) Link() string {
	switch {
	case strings.HasSuffix(e.Type, "Deleted"):
		return ""
	case e.DocumentID != "":
		return "/documents/" + e.DocumentID
	case e.FolderID != "":
		return "/folders/" + e.FolderID
	}
	return ""
}

// Undo returns the address of the page that offers to restore the document whose deletion the
// entry tells, or "".
func (e Entry) Undo() string {
	if e.Type != "DocumentDeleted" || e.DocumentID == "" || time.Since(e.Time) > restorable {
		return ""
	}
	return "/documents/" + e.DocumentID
}

// NameOf returns the name of a user or group without the prefix of its kind.
func NameOf(principal string) string {
	if _, name, found := strings.Cut(principal, ":"); found {
		return name
	}
	return principal
}

// Day is the entries of a day.
type Day struct {
	Date    time.Time
	Entries []Entry
}

// ByDay divides entries, the newest first, into days of UTC.
func ByDay(entries []Entry) (days []Day) {
	for _, e := range entries {
		if n := len(days); n == 0 || days[n-1].Date.Format(time.DateOnly) != e.Time.UTC().Format(time.DateOnly) {
			days = append(days, Day{Date: e.Time.UTC()})
		}
		day := &days[len(days)-1]
		day.Entries = append(day.Entries, e)
	}
	return days
}
