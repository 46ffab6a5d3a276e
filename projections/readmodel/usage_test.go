package readmodel_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/sqldb"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

// history appends random events and computes the state that they should lead to.
type history struct {
	*rand.Rand
	t         *testing.T
	log       *events.Log
	folders   map[uuid.UUID]*storedFolder
	documents map[uuid.UUID]*storedDocument
	jobs      []acceptedFile
	removed   map[string]int64 // bytes of deleted documents, by uploader
	order     []uuid.UUID      // ids of folders and documents, in the order of their creation
}

type storedFolder struct {
	parent  uuid.UUID
	name    string
	creator string
	deleted bool
	sharers map[string]string
}

type storedDocument struct {
	folder  uuid.UUID
	owner   string
	version int
	content []acceptedFile // of all versions
}

type acceptedFile struct {
	job     uuid.UUID
	owner   string
	size    int64
	under   uuid.UUID
	path    string // of the target folder
	folders int    // missing folders on the path
	outcome string // "", "failed" or "imported"
}

func (h *history) user() string { return fmt.Sprint("user:", h.IntN(3)) }

func (h *history) append(user, stream string, data ...events.Data) {
	h.t.Helper()
	projectionstest.AppendAs(h.t, h.log, events.Principal(user), stream, data...)
}

// deleted reports whether a folder or one above it was deleted.
func (h *history) deleted(id uuid.UUID) bool {
	for ; id != uuid.Nil; id = h.folders[id].parent {
		if h.folders[id].deleted {
			return true
		}
	}
	return false
}

// below reports whether a folder is the same as another folder, or is below it.
func (h *history) below(id, above uuid.UUID) bool {
	for ; id != uuid.Nil; id = h.folders[id].parent {
		if id == above {
			return true
		}
	}
	return false
}

// space returns the top folder of the space that a folder is in, or "" for the inbox
// itself.
func (h *history) space(id uuid.UUID) string {
	for {
		f := h.folders[id]
		above := h.folders[f.parent]
		switch {
		case f.parent == uuid.Nil && f.name == "Inbox":
			return ""
		case f.parent == uuid.Nil, above.parent == uuid.Nil && above.name == "Inbox":
			return id.String()
		}
		id = f.parent
	}
}

// folder returns a random folder that is not deleted, or uuid.Nil.
func (h *history) folder() uuid.UUID {
	live := slices.DeleteFunc(slices.Clone(h.order), func(id uuid.UUID) bool { return h.folders[id] == nil || h.deleted(id) })
	if len(live) == 0 {
		return uuid.Nil
	}
	return live[h.IntN(len(live))]
}

// step appends a random event.
func (h *history) step() {
	who, folder := h.user(), h.folder()
	n := h.IntN(20)
	if folder == uuid.Nil {
		n = 0
	}
	switch {
	case n < 3:
		h.makeFolder(who, folder)
	case n < 4:
		to := h.folder()
		if f := h.folders[folder]; f.name != "Inbox" && !h.below(to, folder) {
			f.parent = to
			h.append(who, events.Folders, events.FolderMoved{Folder: folder, Parent: to})
		}
	case n < 6:
		h.share(who, folder)
	case n < 7 && h.IntN(3) == 0:
		h.folders[folder].deleted = true
		h.append(who, events.Folders, events.FolderDeleted{Folder: folder})
	case n < 9:
		h.upload(who, folder)
	case n < 11 && len(h.jobs) > 0:
		h.end(&h.jobs[h.IntN(len(h.jobs))])
	case n < 14 || len(h.documents) == 0:
		id := uuid.New()
		h.order = append(h.order, id)
		h.documents[id] = &storedDocument{folder: folder, owner: who, version: 1, content: []acceptedFile{{owner: who, size: int64(n + 3*10)}}}
		h.append(who, events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Content: events.Content{Size: int64(n), TextBytes: 10}})
	default:
		h.change(who, folder, n)
	}
}

func (h *history) makeFolder(who string, folder uuid.UUID) {
	id, name := uuid.New(), "F"
	if len(h.folders) == 0 {
		name, folder = "Inbox", uuid.Nil
	} else if h.IntN(3) == 0 {
		folder = uuid.Nil
	}
	h.folders[id], h.order = &storedFolder{parent: folder, name: name, creator: who}, append(h.order, id)
	h.append(who, events.Folders, events.FolderCreated{Folder: id, Parent: folder, Name: name})
}

func (h *history) share(who string, folder uuid.UUID) {
	var list []events.Permission
	f, before, sharers := h.folders[folder], h.folders[folder].sharers, map[string]string{}
	for i := range 3 {
		if h.IntN(2) == 0 {
			p := fmt.Sprint("group:", i)
			list = append(list, events.Permission{Principal: events.Principal(p), Access: "read"})
			if sharers[p] = who; f.sharers[p] != "" {
				sharers[p] = f.sharers[p]
			}
		}
	}
	f.sharers = sharers
	shared := events.FolderShared{Folder: folder, Permissions: list}
	if h.IntN(3) == 0 {
		shared.Invitations = []events.Invitation{{Principal: "user:9", Access: "read", By: events.Principal(who)}}
		if before["user:9"] != "" {
			sharers["user:9"] = before["user:9"]
		} else {
			sharers["user:9"] = who
		}
	}
	h.append(who, events.Folders, shared)
	if sharers["user:9"] != "" && h.IntN(2) == 0 {
		h.append("user:9", events.Folders, events.FolderInvitationAccepted{Folder: folder, Principal: "user:9", Access: "read", By: events.Principal(who)})
		if h.IntN(2) == 0 {
			h.append("user:9", events.Folders, events.FolderLeft{Folder: folder, Principal: "user:9"})
			delete(sharers, "user:9")
		}
	}
}

func (h *history) upload(who string, folder uuid.UUID) {
	f := acceptedFile{job: uuid.New(), owner: who, size: h.Int64N(100), under: folder, path: "F"}
	rest := strings.Join(slices.Repeat([]string{"new"}, h.IntN(3)), "/")
	if h.IntN(4) == 0 {
		f.under, f.path, rest = uuid.Nil, fmt.Sprint("F", h.IntN(3)), ""
		f.folders = 1
	} else if rest != "" {
		f.path += "/" + rest
		f.folders = strings.Count(rest, "/") + 1
	}
	h.jobs = append(h.jobs, f)
	h.append(who, events.JobStream(f.job), events.FileAccepted{File: 0, Folder: f.path, Under: f.under, Rest: rest, Size: f.size},
		events.FileAccepted{File: 1, Folder: "F", Size: 7, Refused: "too large"}, events.ImportRequested{Files: 2, User: events.Principal(who)})
}

// workSpace returns the space to which a file counts while it is being imported.
func (h *history) workSpace(f acceptedFile) string {
	if f.under != uuid.Nil {
		if space := h.space(f.under); space != "" {
			return space
		}
	}
	return "/" + events.SpaceName(f.path)
}

func (h *history) end(f *acceptedFile) {
	if f.outcome != "" {
		return
	}
	f.outcome = []string{"failed", "imported"}[h.IntN(2)]
	if f.outcome == "failed" {
		h.append(f.owner, events.JobStream(f.job), events.FileFailed{File: 0, Error: "no"})
		return
	}
	h.append(f.owner, events.JobStream(f.job), events.FileImported{File: 0, Duplicate: true})
}

func (h *history) change(who string, folder uuid.UUID, n int) {
	var all []uuid.UUID
	for _, id := range h.order {
		if h.documents[id] != nil {
			all = append(all, id)
		}
	}
	id := all[h.IntN(len(all))]
	d := h.documents[id]
	d.version++
	switch {
	case n < 16:
		if !h.deleted(d.folder) { // a document that was deleted with its folder stays deleted
			d.folder = folder
			if h.IntN(8) == 0 { // into a folder that was deleted at the same time
				for other, f := range h.folders {
					if f.deleted {
						d.folder = other
					}
				}
			}
		}
		h.append(who, events.DocumentStream(id), events.DocumentMoved{Version: d.version, Folder: d.folder})
	case n < 18:
		if !h.deleted(d.folder) {
			d.content = append(d.content, acceptedFile{owner: who, size: int64(n + 3*n)})
		}
		h.append(who, events.DocumentStream(id), events.DocumentRevised{Version: d.version, Content: events.Content{Size: int64(n), TextBytes: int64(n)}})
	case n < 19: // the last content gets another text
		text := h.IntN(100)
		if !h.deleted(d.folder) {
			d.content[len(d.content)-1].size = int64(n + 3*text)
		}
		h.append(who, events.DocumentStream(id), events.DocumentReread{Version: d.version, Content: events.Content{Size: int64(n), TextBytes: int64(text)}})
	default:
		h.remove(id)
		h.append(who, events.DocumentStream(id), events.DocumentDeleted{Version: d.version})
	}
}

// remove deletes a document. Its bytes still count, as deleted bytes.
func (h *history) remove(id uuid.UUID) {
	for _, k := range h.documents[id].content {
		h.removed[k.owner] += k.size
	}
	delete(h.documents, id)
}

// sum returns the expected usage as sorted lines, such as "documents of user:alice: 3".
func (h *history) sum() (lines []string) {
	total := map[string]int64{}
	for id, f := range h.folders {
		if h.deleted(id) {
			continue
		}
		total["folders of "+f.creator]++
		for _, by := range f.sharers {
			total["shares of "+by]++
		}
	}
	for owner, size := range h.removed {
		total["bytes deleted of "+owner] += size
	}
	for _, d := range h.documents {
		if h.deleted(d.folder) {
			for _, k := range d.content {
				total["bytes deleted of "+k.owner] += k.size
			}
			continue
		}
		total["documents of "+d.owner]++
		space := h.space(d.folder)
		if space != "" {
			total["documents in "+space]++
		}
		for _, k := range d.content {
			total["bytes of "+k.owner] += k.size
			if space != "" { // the inbox itself belongs to no space
				total["bytes in "+space] += k.size
			}
		}
	}
	counted := map[string]bool{} // paths whose missing folders were counted
	for _, f := range h.jobs {
		switch f.outcome {
		case "":
			total["importing files of "+f.owner]++
			total["importing documents of "+f.owner]++
			total["importing bytes of "+f.owner] += f.size
			total["documents in "+h.workSpace(f)]++
			total["bytes in "+h.workSpace(f)] += f.size
			if path := fmt.Sprint(f.owner, f.under, f.path, f.folders); !counted[path] {
				counted[path] = true
				total["importing folders of "+f.owner] += int64(f.folders)
			}
		case "failed":
			total["bytes failed of "+f.owner] += f.size
		}
	}
	for what, n := range total {
		if n > 0 {
			lines = append(lines, fmt.Sprint(what, ": ", n))
		}
	}
	slices.Sort(lines)
	return lines
}

// usage returns the same lines as sum, but reads them from the read model.
func usage(t *testing.T, m *projectionstest.Model) []string {
	t.Helper()
	all, err := sqldb.Column[string](t.Context(), m.DB(), strings.Join([]string{
		`SELECT 'bytes of ' || principal || ': ' || bytes FROM users WHERE bytes > 0`,
		`SELECT 'documents of ' || principal || ': ' || documents FROM users WHERE documents > 0`,
		`SELECT 'folders of ' || maker || ': ' || count(*) FROM folders WHERE deleted = 0 GROUP BY maker`,
		`SELECT 'shares of ' || maker || ': ' || count(*) FROM shares GROUP BY maker`,
		`SELECT 'bytes in ' || space || ': ' || bytes FROM spaces WHERE bytes > 0`,
		`SELECT 'documents in ' || space || ': ' || documents FROM spaces WHERE documents > 0`,
		`SELECT 'importing files of ' || principal || ': ' || work_files FROM users WHERE work_files > 0`,
		`SELECT 'importing bytes of ' || principal || ': ' || work_bytes FROM users WHERE work_bytes > 0`,
		`SELECT 'importing documents of ' || principal || ': ' || work_documents FROM users WHERE work_documents > 0`,
		`SELECT 'importing folders of ' || principal || ': ' || work_folders FROM users WHERE work_folders > 0`,
		`SELECT 'bytes failed of ' || owner || ': ' || sum(failed) FROM unswept GROUP BY owner HAVING sum(failed) > 0`,
		`SELECT 'bytes deleted of ' || owner || ': ' || sum(deleted) FROM unswept GROUP BY owner HAVING sum(deleted) > 0`,
		`SELECT 'left of ' || owner || ' in ' || path || ': ' || files FROM making WHERE files < 1`,
	}, " UNION ALL "))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func TestUsageEqualsSumOfContents(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := &history{
				Rand: rand.New(rand.NewPCG(seed, 1)), t: t, log: projectionstest.NewLog(t),
				folders: map[uuid.UUID]*storedFolder{}, documents: map[uuid.UUID]*storedDocument{}, removed: map[string]int64{},
			}
			m := projectionstest.OpenModel(t, h.log, readmodel.Usage{}, projectionstest.Home(t, t.TempDir()))
			for range 4 {
				for range 100 {
					h.step()
				}
				m.ApplyAll()
				if got, want := usage(t, m), h.sum(); !slices.Equal(got, want) {
					t.Fatalf("the usage is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			if n := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM parked`); n > 0 {
				t.Errorf("%d events are parked, want none", n)
			}
		})
	}
}
