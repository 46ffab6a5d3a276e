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

// reference is a simple model of the state after the events of one run of a property
// test. To decide what a user may read, it walks from each document or folder up to the
// top level.
type reference struct {
	*fixture
	rt        *rapid.T
	number    int // of the run, which is part of names because runs share a log
	tags      []string
	users     []events.User
	principal []events.Principal // users and groups that folders are shared with
	folders   map[uuid.UUID]*refFolder
	documents map[uuid.UUID]*refDocument
	blocked   map[[2]events.Principal]bool // pairs of a user and an inviter
	order     []uuid.UUID                  // folders and documents in the order of creation, so that draws are reproducible
}

type refFolder struct {
	parent  uuid.UUID
	name    string
	owners  []events.Principal
	list    []events.Permission
	invited []events.Invitation
	deleted bool
}

type refDocument struct {
	folder      uuid.UUID
	name, title string
	tags        []string
	version     int
	sha256      string
}

// path returns the ids of the folders from the top level down to folder id, or nil if
// one of them is deleted.
func (ref *reference) path(id uuid.UUID) (ids []uuid.UUID) {
	for ; id != uuid.Nil; id = ref.folders[id].parent {
		if ref.folders[id].deleted {
			return nil
		}
		ids = append(ids, id)
	}
	slices.Reverse(ids)
	return ids
}

func (ref *reference) pathName(id uuid.UUID) string {
	var names []string
	for _, id := range ref.path(id) {
		names = append(names, ref.folders[id].name)
	}
	return strings.Join(names, "/")
}

// reads reports whether a user may read a folder and its contents.
func (ref *reference) reads(user events.User, id uuid.UUID) bool {
	path := ref.path(id)
	return len(path) > 0 && (user.Admin || slices.ContainsFunc(path, func(id uuid.UUID) bool {
		f := ref.folders[id]
		return slices.Contains(f.owners, user.Principal) || slices.ContainsFunc(f.list, func(p events.Permission) bool {
			return slices.Contains(user.Principals(), p.Principal)
		})
	}))
}

// readable returns the wanted documents that a user may read, in the order of listings.
func (ref *reference) readable(user events.User, wanted func(*refDocument) bool) (ids []uuid.UUID) {
	for id, d := range ref.documents {
		if ref.reads(user, d.folder) && wanted(d) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int {
		return cmp.Or(strings.Compare(ref.documents[a].name, ref.documents[b].name), slices.Compare(a[:], b[:]))
	})
	return ids
}

// children returns the readable folders that are listed below a folder, or at the top
// level, where those with unreadable parents are listed, too.
func (ref *reference) children(user events.User, parent uuid.UUID) (ids []uuid.UUID) {
	for id, f := range ref.folders {
		if !ref.reads(user, id) {
			continue
		}
		if f.parent == parent || parent == uuid.Nil && !ref.reads(user, f.parent) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int {
		return cmp.Or(strings.Compare(strings.ToLower(ref.folders[a].name), strings.ToLower(ref.folders[b].name)), slices.Compare(a[:], b[:]))
	})
	return ids
}

func newReference(f *fixture, r *rapid.T, n int) *reference {
	name := func(kind string, i int) events.Principal {
		return events.Principal(fmt.Sprintf("%s:%d-%d", kind, n, i))
	}
	ref := &reference{fixture: f, rt: r, number: n, folders: make(map[uuid.UUID]*refFolder), blocked: make(map[[2]events.Principal]bool), documents: make(map[uuid.UUID]*refDocument)}
	for _, tag := range []string{"blue", "green", "red"} {
		ref.tags = append(ref.tags, fmt.Sprint(tag, n))
	}
	ref.users = []events.User{
		{Principal: name("user", 0)},
		{Principal: name("user", 1), Groups: []events.Principal{name("group", 0)}},
		{Principal: name("user", 2), Groups: []events.Principal{name("group", 0), name("group", 1)}},
		{Principal: name("user", 3)},
		{Principal: "user:root", Admin: true},
	}
	for i := range 4 {
		ref.principal = append(ref.principal, name("user", i))
	}
	ref.principal = append(ref.principal, name("group", 0), name("group", 1))
	return ref
}

// pick draws a folder or document that live accepts, or uuid.Nil if there is none.
func (ref *reference) pick(what string, live func(uuid.UUID) bool) uuid.UUID {
	ids := slices.DeleteFunc(slices.Clone(ref.order), func(id uuid.UUID) bool { return !live(id) })
	if len(ids) == 0 {
		return uuid.Nil
	}
	return ids[rapid.IntRange(0, len(ids)-1).Draw(ref.rt, what)]
}

func (ref *reference) liveFolder(id uuid.UUID) bool {
	return ref.folders[id] != nil && ref.path(id) != nil
}

func (ref *reference) liveDocument(id uuid.UUID) bool {
	return ref.documents[id] != nil && ref.path(ref.documents[id].folder) != nil
}

// free returns a name that no folder in parent has. At the top level it contains the number
// of the run.
func (ref *reference) free(parent uuid.UUID) string {
	name := rapid.SampledFrom([]string{"A", "b", "C", "d"}).Draw(ref.rt, "name")
	if parent == uuid.Nil {
		name += strconv.Itoa(ref.number)
	}
	for slices.ContainsFunc(slices.Collect(maps.Values(ref.folders)), func(f *refFolder) bool { return !f.deleted && f.parent == parent && f.name == name }) {
		name += "x"
	}
	return name
}

// change draws a change, appends its event, and applies it to the reference.
func (ref *reference) change() {
	folder, document := ref.pick("folder", ref.liveFolder), ref.pick("document", ref.liveDocument)
	kinds := []string{"create"}
	if folder != uuid.Nil {
		kinds = append(kinds, "create", "create", "rename", "move", "move", "share", "share", "answer", "answer", "file", "file", "file", "delete")
	}
	if document != uuid.Nil {
		kinds = append(kinds, "refile", "retag", "retitle", "revise", "remove")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(ref.rt, "change"); kind {
	case "create", "rename", "move", "share", "delete":
		ref.changeFolder(kind, folder)
	case "answer":
		ref.reply(folder)
	case "file":
		ref.fileDocument(folder)
	default:
		ref.changeDocument(kind, document, folder)
	}
}

func (ref *reference) changeFolder(kind string, id uuid.UUID) {
	f := ref.folders[id]
	switch kind {
	case "create":
		parent := id
		if len(ref.folders) == 0 || rapid.IntRange(0, 3).Draw(ref.rt, "at the top") == 0 {
			parent = uuid.Nil
		}
		f = &refFolder{parent: parent, name: ref.free(parent)}
		var owner events.Principal
		if parent == uuid.Nil {
			owner = ref.users[rapid.IntRange(0, 3).Draw(ref.rt, "owner")].Principal
			f.owners = append(f.owners, owner)
		}
		id = ref.AddFolder(parent, f.name, owner)
		ref.folders[id], ref.order = f, append(ref.order, id)
	case "rename":
		f.name = ref.free(f.parent)
		ref.Append(events.Folders, events.FolderRenamed{Folder: id, Name: f.name})
	case "move":
		parent := ref.pick("parent", func(to uuid.UUID) bool { return ref.liveFolder(to) && !slices.Contains(ref.path(to), id) })
		moved := events.FolderMoved{Folder: id, Parent: parent}
		if parent == uuid.Nil {
			moved.Owner = ref.users[rapid.IntRange(0, 3).Draw(ref.rt, "owner")].Principal
			f.owners = append(f.owners, moved.Owner)
		}
		name := ref.free(parent) // its current name may be taken in parent
		f.parent, f.name = parent, name
		ref.Append(events.Folders, moved, events.FolderRenamed{Folder: id, Name: name})
	case "share":
		f.list = nil
		for _, p := range rapid.SliceOfNDistinct(rapid.SampledFrom(ref.principal), 0, 2, rapid.ID[events.Principal]).Draw(ref.rt, "shared with") {
			f.list = append(f.list, events.Permission{Principal: p, Access: rapid.SampledFrom([]string{"read", "write", "own"}).Draw(ref.rt, "access")})
		}
		ref.Append(events.Folders, events.FolderShared{Folder: id, Permissions: f.list, Invitations: ref.invite(f)})
	case "delete":
		if rapid.IntRange(0, 2).Draw(ref.rt, "delete") == 0 { // only sometimes, so that folders remain
			for below := range ref.folders {
				if slices.Contains(ref.path(below), id) {
					ref.folders[below].invited = nil
				}
			}
			f.deleted = true
			ref.Append(events.Folders, events.FolderDeleted{Folder: id})
		}
	}
}

func (ref *reference) drawTags() []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(ref.tags), 0, 2, rapid.ID[string]).Draw(ref.rt, "tags")
}

// bytes draws the digest of one of two originals.
func (ref *reference) bytes() string {
	return fmt.Sprintf("%064x", 2*ref.number+rapid.IntRange(0, 1).Draw(ref.rt, "bytes"))
}

// content draws new content for a document.
func (ref *reference) content(id uuid.UUID, d *refDocument) events.Content {
	d.sha256, d.title = ref.bytes(), fmt.Sprintf("Title %d of %s", d.version, d.name)
	stream := events.TextStream(id, d.version)
	ref.Append(stream, events.SectionExtracted{Text: fmt.Sprintf("The heron%d is in version %d.", ref.number, d.version)})
	return events.Content{SHA256: d.sha256, MediaType: "text/markdown", Title: d.title, TextStream: stream, Sections: 1}
}

func (ref *reference) fileDocument(folder uuid.UUID) {
	id := uuid.New()
	d := &refDocument{folder: folder, name: fmt.Sprintf("%02d.md", len(ref.order)), tags: ref.drawTags(), version: 1}
	ref.documents[id], ref.order = d, append(ref.order, id)
	content := ref.content(id, d)
	ref.Append(events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Name: d.name, Tags: d.tags, Content: content})
}

func (ref *reference) changeDocument(kind string, id, folder uuid.UUID) {
	d := ref.documents[id]
	d.version++
	var change events.Data
	switch kind {
	case "refile":
		d.folder = folder
		change = events.DocumentMoved{Version: d.version, Folder: folder}
	case "retag":
		d.tags = ref.drawTags()
		change = events.DocumentTagged{Version: d.version, Tags: d.tags}
	case "retitle":
		d.name = "new " + d.name
		change = events.DocumentRenamed{Version: d.version, Name: d.name}
	case "revise":
		change = events.DocumentRevised{Version: d.version, Content: ref.content(id, d)}
	case "remove":
		delete(ref.documents, id)
		change = events.DocumentDeleted{Version: d.version}
	}
	ref.Append(events.DocumentStream(id), change)
}

// invite draws random invitations for a FolderShared: some existing ones, and new ones.
func (ref *reference) invite(f *refFolder) (list []events.Invitation) {
	before := f.invited
	f.invited = nil
	for _, who := range ref.principal[:4] {
		if slices.ContainsFunc(f.list, func(p events.Permission) bool { return p.Principal == who }) || rapid.Bool().Draw(ref.rt, "not invited") {
			continue
		}
		by := rapid.SampledFrom(ref.principal).Draw(ref.rt, "invited by")
		i := events.Invitation{Principal: who, Access: rapid.SampledFrom([]string{"read", "own"}).Draw(ref.rt, "access"), By: by}
		if by.IsGroup() {
			i.By, i.Through = ref.principal[0], by
		}
		for _, was := range before {
			if was.Principal == who && rapid.Bool().Draw(ref.rt, "stays") {
				i = was
			}
		}
		f.invited = append(f.invited, i)
		list = append(list, i)
	}
	return list
}

// reply draws a reply to an invitation. The invitation may be hidden from the user: only
// commands check that, and read models must apply all events.
func (ref *reference) reply(id uuid.UUID) {
	f := ref.folders[id]
	kinds := []string{"unblock"}
	if len(f.invited) > 0 {
		kinds = append(kinds, "accept", "decline")
	}
	if len(f.list) > 0 && f.list[0].Principal.IsUser() {
		kinds = append(kinds, "leave")
	}
	switch rapid.SampledFrom(kinds).Draw(ref.rt, "answer") {
	case "accept":
		i := f.invited[0]
		f.invited = f.invited[1:]
		f.list = append(f.list, events.Permission{Principal: i.Principal, Access: i.Access})
		ref.Append(events.Folders, events.FolderInvitationAccepted{Folder: id, Principal: i.Principal, Access: i.Access, By: i.By})
	case "decline":
		i := f.invited[len(f.invited)-1]
		ref.blocked[[2]events.Principal{i.Principal, i.By}] = true
		ref.Append(events.Folders, events.FolderInvitationDeclined{Folder: id, Principal: i.Principal, By: i.By})
	case "leave":
		who := f.list[0].Principal
		f.list = f.list[1:]
		ref.Append(events.Folders, events.FolderLeft{Folder: id, Principal: who})
	case "unblock":
		who, by := rapid.SampledFrom(ref.principal[:4]).Draw(ref.rt, "who"), rapid.SampledFrom(ref.principal[:4]).Draw(ref.rt, "unblocks")
		pairs := slices.SortedFunc(maps.Keys(ref.blocked), func(a, b [2]events.Principal) int { return slices.Compare(a[:], b[:]) })
		if len(pairs) > 0 {
			pair := rapid.SampledFrom(pairs).Draw(ref.rt, "blocked")
			who, by = pair[0], pair[1]
		}
		delete(ref.blocked, [2]events.Principal{who, by})
		ref.Append(events.Folders, events.InviterUnblocked{Principal: who, By: by})
	}
}

// seesInvitation returns the pending invitation of a user to a folder.
func (ref *reference) seesInvitation(user events.User, id uuid.UUID) (events.Invitation, bool) {
	at := slices.IndexFunc(ref.folders[id].invited, func(i events.Invitation) bool {
		return i.Principal == user.Principal && !ref.blocked[[2]events.Principal{i.Principal, i.By}]
	})
	if at < 0 {
		return events.Invitation{}, false
	}
	i := ref.folders[id].invited[at]
	owner := cmp.Or(i.Through, i.By)
	return i, slices.ContainsFunc(ref.path(id), func(id uuid.UUID) bool {
		f := ref.folders[id]
		return slices.Contains(f.owners, owner) || slices.Contains(f.list, events.Permission{Principal: owner, Access: "own"})
	})
}
