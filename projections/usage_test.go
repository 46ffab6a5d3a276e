package projections

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

// account keeps the world that a random history makes.
type account struct {
	*rand.Rand
	t         *testing.T
	log       *events.Log
	last      events.Position
	folders   map[uuid.UUID]*accountFolder
	documents map[uuid.UUID]*accountDocument
	jobs      []accountFile
	removed   map[string]int64 // bytes of deleted documents, by who uploaded them
	order     []uuid.UUID
}

type accountFolder struct {
	parent  uuid.UUID
	name    string
	maker   string
	deleted bool
	sharers map[string]string
}

type accountDocument struct {
	folder  uuid.UUID
	owner   string
	version int
	kept    []accountFile
}

type accountFile struct {
	job     uuid.UUID
	owner   string
	size    int64
	under   uuid.UUID
	path    string // of the folder that it goes to
	folders int    // of these are still to be made
	outcome string // "", "failed" or "imported"
}

func (a *account) user() string { return fmt.Sprint("user:", a.IntN(3)) }

func (a *account) by(user, stream string, data ...events.Data) {
	a.t.Helper()
	var added []events.New
	for _, d := range data {
		added = append(added, events.New{Data: d})
	}
	at, err := a.log.Append(a.t.Context(), stream, events.AnyRevision, events.Cause{Actor: events.Principal(user)}, added...)
	if err != nil {
		a.t.Fatal(err)
	}
	a.last = at.Position
}

func (a *account) gone(id uuid.UUID) bool {
	for ; id != uuid.Nil; id = a.folders[id].parent {
		if a.folders[id].deleted {
			return true
		}
	}
	return false
}

func (a *account) below(id, above uuid.UUID) bool {
	for ; id != uuid.Nil; id = a.folders[id].parent {
		if id == above {
			return true
		}
	}
	return false
}

func (a *account) space(id uuid.UUID) string {
	for {
		f := a.folders[id]
		above := a.folders[f.parent]
		switch {
		case f.parent == uuid.Nil && f.name == "Inbox":
			return ""
		case f.parent == uuid.Nil, above.parent == uuid.Nil && above.name == "Inbox":
			return id.String()
		}
		id = f.parent
	}
}

// folder picks one that is there.
func (a *account) folder() uuid.UUID {
	live := slices.DeleteFunc(slices.Clone(a.order), func(id uuid.UUID) bool { return a.folders[id] == nil || a.gone(id) })
	if len(live) == 0 {
		return uuid.Nil
	}
	return live[a.IntN(len(live))]
}

func (a *account) step() {
	who, folder := a.user(), a.folder()
	n := a.IntN(20)
	if folder == uuid.Nil {
		n = 0
	}
	switch {
	case n < 3:
		a.makeFolder(who, folder)
	case n < 4:
		to := a.folder()
		if f := a.folders[folder]; f.name != "Inbox" && !a.below(to, folder) {
			f.parent = to
			a.by(who, events.Folders, events.FolderMoved{Folder: folder, Parent: to})
		}
	case n < 6:
		a.share(who, folder)
	case n < 7 && a.IntN(3) == 0:
		a.folders[folder].deleted = true
		a.by(who, events.Folders, events.FolderDeleted{Folder: folder})
	case n < 9:
		a.upload(who, folder)
	case n < 11 && len(a.jobs) > 0:
		a.end(&a.jobs[a.IntN(len(a.jobs))])
	case n < 14 || len(a.documents) == 0:
		id := uuid.New()
		a.order = append(a.order, id)
		a.documents[id] = &accountDocument{folder: folder, owner: who, version: 1, kept: []accountFile{{owner: who, size: int64(n + 3*10)}}}
		a.by(who, events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Content: events.Content{Size: int64(n), TextBytes: 10}})
	default:
		a.change(who, folder, n)
	}
}

func (a *account) makeFolder(who string, folder uuid.UUID) {
	id, name := uuid.New(), "F"
	if len(a.folders) == 0 {
		name, folder = "Inbox", uuid.Nil
	} else if a.IntN(3) == 0 {
		folder = uuid.Nil
	}
	a.folders[id], a.order = &accountFolder{parent: folder, name: name, maker: who}, append(a.order, id)
	a.by(who, events.Folders, events.FolderCreated{Folder: id, Parent: folder, Name: name})
}

func (a *account) share(who string, folder uuid.UUID) {
	var list []events.Permission
	f, before, sharers := a.folders[folder], a.folders[folder].sharers, map[string]string{}
	for i := range 3 {
		if a.IntN(2) == 0 {
			p := fmt.Sprint("group:", i)
			list = append(list, events.Permission{Principal: events.Principal(p), Access: "read"})
			if sharers[p] = who; f.sharers[p] != "" {
				sharers[p] = f.sharers[p]
			}
		}
	}
	f.sharers = sharers
	shared := events.FolderShared{Folder: folder, Permissions: list}
	if a.IntN(3) == 0 {
		shared.Invitations = []events.Invitation{{Principal: "user:9", Access: "read", By: events.Principal(who)}}
		if before["user:9"] != "" {
			sharers["user:9"] = before["user:9"]
		} else {
			sharers["user:9"] = who
		}
	}
	a.by(who, events.Folders, shared)
	if sharers["user:9"] != "" && a.IntN(2) == 0 {
		a.by("user:9", events.Folders, events.FolderInvitationAccepted{Folder: folder, Principal: "user:9", Access: "read", By: events.Principal(who)})
		if a.IntN(2) == 0 {
			a.by("user:9", events.Folders, events.FolderLeft{Folder: folder, Principal: "user:9"})
			delete(sharers, "user:9")
		}
	}
}

func (a *account) upload(who string, folder uuid.UUID) {
	f := accountFile{job: uuid.New(), owner: who, size: a.Int64N(100), under: folder, path: "F"}
	rest := strings.Join(slices.Repeat([]string{"new"}, a.IntN(3)), "/")
	if a.IntN(4) == 0 {
		f.under, f.path, rest = uuid.Nil, fmt.Sprint("F", a.IntN(3)), ""
		f.folders = 1
	} else if rest != "" {
		f.path += "/" + rest
		f.folders = strings.Count(rest, "/") + 1
	}
	a.jobs = append(a.jobs, f)
	a.by(who, events.JobStream(f.job), events.FileAccepted{File: 0, Folder: f.path, Under: f.under, Rest: rest, Size: f.size},
		events.FileAccepted{File: 1, Folder: "F", Size: 7, Refused: "too large"}, events.ImportRequested{Files: 2, User: events.Principal(who)})
}

// workSpace returns the key of the space that a file in work is for.
func (a *account) workSpace(f accountFile) string {
	if f.under != uuid.Nil {
		if space := a.space(f.under); space != "" {
			return space
		}
	}
	return "/" + events.SpaceName(f.path)
}

func (a *account) end(f *accountFile) {
	if f.outcome != "" {
		return
	}
	f.outcome = []string{"failed", "imported"}[a.IntN(2)]
	if f.outcome == "failed" {
		a.by(f.owner, events.JobStream(f.job), events.FileFailed{File: 0, Error: "no"})
		return
	}
	a.by(f.owner, events.JobStream(f.job), events.FileImported{File: 0, Duplicate: true})
}

func (a *account) change(who string, folder uuid.UUID, n int) {
	var all []uuid.UUID
	for _, id := range a.order {
		if a.documents[id] != nil {
			all = append(all, id)
		}
	}
	id := all[a.IntN(len(all))]
	d := a.documents[id]
	d.version++
	switch {
	case n < 16:
		if !a.gone(d.folder) { // what went with its folder stays gone
			d.folder = folder
			if a.IntN(8) == 0 { // one that was deleted meanwhile, by one who did not know
				for other, f := range a.folders {
					if f.deleted {
						d.folder = other
					}
				}
			}
		}
		a.by(who, events.DocumentStream(id), events.DocumentMoved{Version: d.version, Folder: d.folder})
	case n < 19:
		if !a.gone(d.folder) {
			d.kept = append(d.kept, accountFile{owner: who, size: int64(n + 3*n)})
		}
		a.by(who, events.DocumentStream(id), events.DocumentRevised{Version: d.version, Content: events.Content{Size: int64(n), TextBytes: int64(n)}})
	default:
		a.remove(id)
		a.by(who, events.DocumentStream(id), events.DocumentDeleted{Version: d.version})
	}
}

// remove forgets a document, of which what it took counts on.
func (a *account) remove(id uuid.UUID) {
	for _, k := range a.documents[id].kept {
		a.removed[k.owner] += k.size
	}
	delete(a.documents, id)
}

// sum adds up what there is.
func (a *account) sum() (lines []string) {
	total := map[string]int64{}
	for id, f := range a.folders {
		if a.gone(id) {
			continue
		}
		total["folders of "+f.maker]++
		for _, by := range f.sharers {
			total["shares of "+by]++
		}
	}
	for owner, size := range a.removed {
		total["bytes deleted of "+owner] += size
	}
	for _, d := range a.documents {
		if a.gone(d.folder) {
			for _, k := range d.kept {
				total["bytes deleted of "+k.owner] += k.size
			}
			continue
		}
		total["documents of "+d.owner]++
		space := a.space(d.folder)
		if space != "" {
			total["documents in "+space]++
		}
		for _, k := range d.kept {
			total["bytes of "+k.owner] += k.size
			if space != "" { // what lies in the inbox itself is in no space
				total["bytes in "+space] += k.size
			}
		}
	}
	made := map[string]bool{}
	for _, f := range a.jobs {
		switch f.outcome {
		case "":
			total["work of "+f.owner]++
			total["documents in work of "+f.owner]++
			total["bytes in work of "+f.owner] += f.size
			total["documents in "+a.workSpace(f)]++
			total["bytes in "+a.workSpace(f)] += f.size
			if way := fmt.Sprint(f.owner, f.under, f.path, f.folders); !made[way] {
				made[way] = true
				total["folders in work of "+f.owner] += int64(f.folders)
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

// counted reads the same from the read model.
func counted(t *testing.T, r *Runner) []string {
	t.Helper()
	all, err := Column(t.Context(), r.DB(), strings.Join([]string{
		`SELECT 'bytes of ' || principal || ': ' || bytes FROM users WHERE bytes > 0`,
		`SELECT 'documents of ' || principal || ': ' || documents FROM users WHERE documents > 0`,
		`SELECT 'folders of ' || maker || ': ' || count(*) FROM folders WHERE deleted = 0 GROUP BY maker`,
		`SELECT 'shares of ' || maker || ': ' || count(*) FROM shares GROUP BY maker`,
		`SELECT 'bytes in ' || space || ': ' || bytes FROM spaces WHERE bytes > 0`,
		`SELECT 'documents in ' || space || ': ' || documents FROM spaces WHERE documents > 0`,
		`SELECT 'work of ' || principal || ': ' || work_files FROM users WHERE work_files > 0`,
		`SELECT 'bytes in work of ' || principal || ': ' || work_bytes FROM users WHERE work_bytes > 0`,
		`SELECT 'documents in work of ' || principal || ': ' || work_documents FROM users WHERE work_documents > 0`,
		`SELECT 'folders in work of ' || principal || ': ' || work_folders FROM users WHERE work_folders > 0`,
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

// Whatever happens, usage is the sum over what there is.
func TestUsageIsTheSumOfWhatThereIs(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a := &account{
				Rand: rand.New(rand.NewPCG(seed, 1)), t: t, log: newLog(t),
				folders: map[uuid.UUID]*accountFolder{}, documents: map[uuid.UUID]*accountDocument{}, removed: map[string]int64{},
			}
			r := started(t, a.log, readmodel.Usage{})
			for range 4 {
				for range 100 {
					a.step()
				}
				wait(t, r, a.last)
				if got, want := counted(t, r), a.sum(); !slices.Equal(got, want) {
					t.Fatalf("usage is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			if n := number(t, r, `SELECT count(*) FROM parked`); n > 0 {
				t.Errorf("%d events are parked", n)
			}
		})
	}
}
