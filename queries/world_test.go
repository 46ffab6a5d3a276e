//go:build !race

package queries_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"annals/events"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// world is what the log says, kept in the plainest way: what a user may read is
// worked out from it by walking up from every single thing.
type world struct {
	*fixture
	r         *rapid.T
	number    int // sets its names apart from those of other worlds
	tags      []string
	users     []events.User
	principal []events.Principal // whom folders are shared with
	folders   map[uuid.UUID]*worldFolder
	documents map[uuid.UUID]*worldDocument
	blocked   map[[2]events.Principal]bool // by whom, and whose invitations
	order     []uuid.UUID                  // of folders and documents as they were made, so that a run can be repeated
}

type worldFolder struct {
	parent  uuid.UUID
	name    string
	owners  []events.Principal
	list    []events.Permission
	invited []events.Invitation
	deleted bool
}

type worldDocument struct {
	folder      uuid.UUID
	name, title string
	tags        []string
	version     int
	sha256      string
}

// path returns the folders from the top down to one, nil where one of them is
// deleted.
func (w *world) path(id uuid.UUID) (ids []uuid.UUID) {
	for ; id != uuid.Nil; id = w.folders[id].parent {
		if w.folders[id].deleted {
			return nil
		}
		ids = append(ids, id)
	}
	slices.Reverse(ids)
	return ids
}

func (w *world) pathName(id uuid.UUID) string {
	var names []string
	for _, id := range w.path(id) {
		names = append(names, w.folders[id].name)
	}
	return strings.Join(names, "/")
}

// reads reports whether a user may read a folder and what is in it.
func (w *world) reads(user events.User, id uuid.UUID) bool {
	path := w.path(id)
	return len(path) > 0 && (user.Admin || slices.ContainsFunc(path, func(id uuid.UUID) bool {
		f := w.folders[id]
		return slices.Contains(f.owners, user.Principal) || slices.ContainsFunc(f.list, func(p events.Permission) bool {
			return slices.Contains(user.Principals(), p.Principal)
		})
	}))
}

// readable returns those documents that a user may read and that are wanted, in
// the order of listings.
func (w *world) readable(user events.User, wanted func(*worldDocument) bool) (ids []uuid.UUID) {
	for id, d := range w.documents {
		if w.reads(user, d.folder) && wanted(d) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int {
		return cmp.Or(strings.Compare(w.documents[a].name, w.documents[b].name), slices.Compare(a[:], b[:]))
	})
	return ids
}

// children returns the readable folders that are listed below one, or at the
// top: those, too, whose parent may not be read.
func (w *world) children(user events.User, parent uuid.UUID) (ids []uuid.UUID) {
	for id, f := range w.folders {
		if !w.reads(user, id) {
			continue
		}
		if f.parent == parent || parent == uuid.Nil && !w.reads(user, f.parent) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int {
		return cmp.Or(strings.Compare(strings.ToLower(w.folders[a].name), strings.ToLower(w.folders[b].name)), slices.Compare(a[:], b[:]))
	})
	return ids
}

func newWorld(f *fixture, r *rapid.T, n int) *world {
	name := func(kind string, i int) events.Principal {
		return events.Principal(fmt.Sprintf("%s:%d-%d", kind, n, i))
	}
	w := &world{fixture: f, r: r, number: n, folders: make(map[uuid.UUID]*worldFolder), blocked: make(map[[2]events.Principal]bool), documents: make(map[uuid.UUID]*worldDocument)}
	for _, tag := range []string{"blue", "green", "red"} {
		w.tags = append(w.tags, fmt.Sprint(tag, n))
	}
	w.users = []events.User{
		{Principal: name("user", 0)},
		{Principal: name("user", 1), Groups: []events.Principal{name("group", 0)}},
		{Principal: name("user", 2), Groups: []events.Principal{name("group", 0), name("group", 1)}},
		{Principal: name("user", 3)},
		{Principal: "user:root", Admin: true},
	}
	for i := range 4 {
		w.principal = append(w.principal, name("user", i))
	}
	w.principal = append(w.principal, name("group", 0), name("group", 1))
	return w
}

// pick draws one of the folders, or documents, that are live; uuid.Nil where
// there is none.
func (w *world) pick(what string, live func(uuid.UUID) bool) uuid.UUID {
	ids := slices.DeleteFunc(slices.Clone(w.order), func(id uuid.UUID) bool { return !live(id) })
	if len(ids) == 0 {
		return uuid.Nil
	}
	return ids[rapid.IntRange(0, len(ids)-1).Draw(w.r, what)]
}

func (w *world) liveFolder(id uuid.UUID) bool { return w.folders[id] != nil && w.path(id) != nil }

func (w *world) liveDocument(id uuid.UUID) bool {
	return w.documents[id] != nil && w.path(w.documents[id].folder) != nil
}

// free returns a name that no folder has there. At the top other worlds have
// theirs.
func (w *world) free(parent uuid.UUID) string {
	name := rapid.SampledFrom([]string{"A", "b", "C", "d"}).Draw(w.r, "name")
	if parent == uuid.Nil {
		name += strconv.Itoa(w.number)
	}
	for slices.ContainsFunc(slices.Collect(maps.Values(w.folders)), func(f *worldFolder) bool { return !f.deleted && f.parent == parent && f.name == name }) {
		name += "x"
	}
	return name
}

// change draws a change and makes it, in the log and in the world.
func (w *world) change() {
	folder, document := w.pick("folder", w.liveFolder), w.pick("document", w.liveDocument)
	kinds := []string{"create"}
	if folder != uuid.Nil {
		kinds = append(kinds, "create", "create", "rename", "move", "move", "share", "share", "answer", "answer", "file", "file", "file", "delete")
	}
	if document != uuid.Nil {
		kinds = append(kinds, "refile", "retag", "retitle", "revise", "remove")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(w.r, "change"); kind {
	case "create", "rename", "move", "share", "delete":
		w.changeFolder(kind, folder)
	case "answer":
		w.answer(folder)
	case "file":
		w.fileDocument(folder)
	default:
		w.changeDocument(kind, document, folder)
	}
}

func (w *world) changeFolder(kind string, id uuid.UUID) {
	f := w.folders[id]
	switch kind {
	case "create":
		parent := id
		if len(w.folders) == 0 || rapid.IntRange(0, 3).Draw(w.r, "at the top") == 0 {
			parent = uuid.Nil
		}
		f = &worldFolder{parent: parent, name: w.free(parent)}
		var owner events.Principal
		if parent == uuid.Nil {
			owner = w.users[rapid.IntRange(0, 3).Draw(w.r, "owner")].Principal
			f.owners = append(f.owners, owner)
		}
		id = w.fixture.folder(parent, f.name, owner)
		w.folders[id], w.order = f, append(w.order, id)
	case "rename":
		f.name = w.free(f.parent)
		w.add(events.Folders, events.FolderRenamed{Folder: id, Name: f.name})
	case "move":
		parent := w.pick("parent", func(to uuid.UUID) bool { return w.liveFolder(to) && !slices.Contains(w.path(to), id) })
		moved := events.FolderMoved{Folder: id, Parent: parent}
		if parent == uuid.Nil {
			moved.Owner = w.users[rapid.IntRange(0, 3).Draw(w.r, "owner")].Principal
			f.owners = append(f.owners, moved.Owner)
		}
		name := w.free(parent) // its own may be taken there
		f.parent, f.name = parent, name
		w.add(events.Folders, moved, events.FolderRenamed{Folder: id, Name: name})
	case "share":
		f.list = nil
		for _, p := range rapid.SliceOfNDistinct(rapid.SampledFrom(w.principal), 0, 2, rapid.ID[events.Principal]).Draw(w.r, "shared with") {
			f.list = append(f.list, events.Permission{Principal: p, Access: rapid.SampledFrom([]string{"read", "write", "own"}).Draw(w.r, "access")})
		}
		w.add(events.Folders, events.FolderShared{Folder: id, Permissions: f.list, Invitations: w.invite(f)})
	case "delete":
		if rapid.IntRange(0, 2).Draw(w.r, "delete") == 0 { // seldom, so that something is left
			for below := range w.folders {
				if slices.Contains(w.path(below), id) {
					w.folders[below].invited = nil
				}
			}
			f.deleted = true
			w.add(events.Folders, events.FolderDeleted{Folder: id})
		}
	}
}

func (w *world) drawTags() []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(w.tags), 0, 2, rapid.ID[string]).Draw(w.r, "tags")
}

// bytes draws one of two files that a document may consist of.
func (w *world) bytes() string {
	return fmt.Sprintf("%064x", 2*w.number+rapid.IntRange(0, 1).Draw(w.r, "bytes"))
}

// content gives a document what it consists of from now on.
func (w *world) content(id uuid.UUID, d *worldDocument) events.Content {
	d.sha256, d.title = w.bytes(), fmt.Sprintf("Title %d of %s", d.version, d.name)
	stream := events.TextStream(id, d.version)
	w.add(stream, events.SectionExtracted{Text: fmt.Sprintf("The heron%d is in version %d.", w.number, d.version)})
	return events.Content{SHA256: d.sha256, MediaType: "text/markdown", Title: d.title, TextStream: stream, Sections: 1}
}

func (w *world) fileDocument(folder uuid.UUID) {
	id := uuid.New()
	d := &worldDocument{folder: folder, name: fmt.Sprintf("%02d.md", len(w.order)), tags: w.drawTags(), version: 1}
	w.documents[id], w.order = d, append(w.order, id)
	content := w.content(id, d)
	w.add(events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Name: d.name, Tags: d.tags, Content: content})
}

func (w *world) changeDocument(kind string, id, folder uuid.UUID) {
	d := w.documents[id]
	d.version++
	var change events.Data
	switch kind {
	case "refile":
		d.folder = folder
		change = events.DocumentMoved{Version: d.version, Folder: folder}
	case "retag":
		d.tags = w.drawTags()
		change = events.DocumentTagged{Version: d.version, Tags: d.tags}
	case "retitle":
		d.name = "new " + d.name
		change = events.DocumentRenamed{Version: d.version, Name: d.name}
	case "revise":
		change = events.DocumentRevised{Version: d.version, Content: w.content(id, d)}
	case "remove":
		delete(w.documents, id)
		change = events.DocumentDeleted{Version: d.version}
	}
	w.add(events.DocumentStream(id), change)
}

// invite draws the invitations of a folder that is shared again: some that were there,
// and new ones.
func (w *world) invite(f *worldFolder) (list []events.Invitation) {
	before := f.invited
	f.invited = nil
	for _, who := range w.principal[:4] {
		if slices.ContainsFunc(f.list, func(p events.Permission) bool { return p.Principal == who }) || rapid.Bool().Draw(w.r, "not invited") {
			continue
		}
		by := rapid.SampledFrom(w.principal).Draw(w.r, "invited by")
		i := events.Invitation{Principal: who, Access: rapid.SampledFrom([]string{"read", "own"}).Draw(w.r, "access"), By: by}
		if by.IsGroup() {
			i.By, i.Through = w.principal[0], by
		}
		for _, was := range before {
			if was.Principal == who && rapid.Bool().Draw(w.r, "stays") {
				i = was
			}
		}
		f.invited = append(f.invited, i)
		list = append(list, i)
	}
	return list
}

// answer draws what somebody does about an invitation, whether they see it or
// not: commands judge that, and read models do what the log says.
func (w *world) answer(id uuid.UUID) {
	f := w.folders[id]
	kinds := []string{"unblock"}
	if len(f.invited) > 0 {
		kinds = append(kinds, "accept", "decline")
	}
	if len(f.list) > 0 && f.list[0].Principal.IsUser() {
		kinds = append(kinds, "leave")
	}
	switch rapid.SampledFrom(kinds).Draw(w.r, "answer") {
	case "accept":
		i := f.invited[0]
		f.invited = f.invited[1:]
		f.list = append(f.list, events.Permission{Principal: i.Principal, Access: i.Access})
		w.add(events.Folders, events.FolderInvitationAccepted{Folder: id, Principal: i.Principal, Access: i.Access, By: i.By})
	case "decline":
		i := f.invited[len(f.invited)-1]
		w.blocked[[2]events.Principal{i.Principal, i.By}] = true
		w.add(events.Folders, events.FolderInvitationDeclined{Folder: id, Principal: i.Principal, By: i.By})
	case "leave":
		who := f.list[0].Principal
		f.list = f.list[1:]
		w.add(events.Folders, events.FolderLeft{Folder: id, Principal: who})
	case "unblock":
		who, by := rapid.SampledFrom(w.principal[:4]).Draw(w.r, "who"), rapid.SampledFrom(w.principal[:4]).Draw(w.r, "unblocks")
		pairs := slices.SortedFunc(maps.Keys(w.blocked), func(a, b [2]events.Principal) int { return slices.Compare(a[:], b[:]) })
		if len(pairs) > 0 {
			pair := rapid.SampledFrom(pairs).Draw(w.r, "blocked")
			who, by = pair[0], pair[1]
		}
		delete(w.blocked, [2]events.Principal{who, by})
		w.add(events.Folders, events.InviterUnblocked{Principal: who, By: by})
	}
}

// seesInvitation returns the invitation to a folder that waits for a user.
func (w *world) seesInvitation(user events.User, id uuid.UUID) (events.Invitation, bool) {
	at := slices.IndexFunc(w.folders[id].invited, func(i events.Invitation) bool {
		return i.Principal == user.Principal && !w.blocked[[2]events.Principal{i.Principal, i.By}]
	})
	if at < 0 {
		return events.Invitation{}, false
	}
	i := w.folders[id].invited[at]
	owner := cmp.Or(i.Through, i.By)
	return i, slices.ContainsFunc(w.path(id), func(id uuid.UUID) bool {
		f := w.folders[id]
		return slices.Contains(f.owners, owner) || slices.Contains(f.list, events.Permission{Principal: owner, Access: "own"})
	})
}
