package console

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"annals/http/console/trail"
)

// permissionList is the permission list of a folder in a reply of the REST interface.
type permissionList struct {
	Owners      []string          `json:"owners"`
	Permissions []permissionEntry `json:"permissions"`
}

type permissionEntry struct {
	Principal string `json:"principal"`
	Access    string `json:"access"`
	Pending   bool   `json:"pending,omitempty"`
}

// Who returns the name of the user or group.
func (p permissionEntry) Who() string { return trail.NameOf(p.Principal) }

// Group reports whether the entry is for a group.
func (p permissionEntry) Group() bool { return strings.HasPrefix(p.Principal, "group:") }

// mayDo says what a level of access allows.
var mayDo = map[string]string{"read": "may read", "write": "may read and change", "own": "may do everything and share"}

// levels are the levels of access, each of which includes those before it.
var levels = []string{"read", "write", "own"}

// sharePage is the content of the page on which a folder is shared.
type sharePage struct {
	Folder    folderEntry
	Crumbs    []crumb
	Owns      bool   // otherwise the page has only a way to leave the folder
	Version   string // of the list
	List      []permissionEntry
	Effective []rights
	Unknown   []folderEntry // folders above whose lists the visitor may not see
	Kind, Who string        // as typed
	Access    string        // as chosen
	Done      *outcome
	refused
}

// rights are what a user or group may do in a folder.
type rights struct {
	permissionEntry
	From []crumb // where the access is granted
}

// May says what the access allows.
func (r rights) May() string { return mayDo[r.Access] }

// askShare shows with whom a folder is shared.
func (c *Console) askShare(v *visit) error {
	return c.showShare(v, sharePage{Kind: "user", Access: "read", Done: outcomeOf(v.URL.Query())})
}

func (c *Console) showShare(v *visit, p sharePage) error {
	f, _, err := v.folder(v.id())
	if err != nil {
		return err
	}
	above, err := v.above(f)
	if err != nil {
		return err
	}
	p.Folder, p.Crumbs = f, append(crumbsOf(append(slices.Clone(above), f)), crumb{Name: "Share"})
	list, version, err := v.permissions(f.ID)
	refused, told := refusal(err)
	switch {
	case told && refused.Status == http.StatusForbidden:
	case err != nil:
		return err
	default:
		p.Owns, p.List, p.Version = true, list.Permissions, version
		if err := v.effective(&p, list, above); err != nil {
			return err
		}
	}
	c.show(v, statusOf(p.Problem), "folders_share", page{Title: "Share " + f.Name, Section: "folders", Scripts: []string{"folders.js"}, Content: p})
	return nil
}

// permissions reads the permission list of a folder, and its version.
func (v *visit) permissions(folder string) (list permissionList, version string, err error) {
	header, err := v.send(v.Context(), call{method: "GET", path: "/vault/folders/" + folder + "/permissions"}, &list)
	return list, strings.Trim(header.Get("ETag"), `"`), err
}

// effective adds what everybody may do in the folder, by its own list and those of the folders
// above it.
func (v *visit) effective(p *sharePage, own permissionList, above []folderEntry) error {
	all := map[string]rights{}
	grant := func(e permissionEntry, from crumb) {
		if e.Pending {
			return
		}
		r, found := all[e.Principal]
		if !found || slices.Index(levels, e.Access) > slices.Index(levels, r.Access) {
			r.permissionEntry = e
		}
		if !slices.Contains(r.From, from) {
			r.From = append(r.From, from)
		}
		all[e.Principal] = r
	}
	for _, owner := range own.Owners {
		grant(permissionEntry{Principal: owner, Access: "own"}, crumb{Name: "owner"})
	}
	for _, e := range own.Permissions {
		grant(e, crumb{Name: "this folder"})
	}
	for _, f := range above {
		list, _, err := v.permissions(f.ID)
		refused, told := refusal(err)
		switch {
		case told && refused.Status == http.StatusForbidden:
			p.Unknown = append(p.Unknown, f)
			continue
		case err != nil:
			return err
		}
		for _, owner := range list.Owners {
			grant(permissionEntry{Principal: owner, Access: "own"}, crumb{f.Name, f.URL() + "/share"})
		}
		for _, e := range list.Permissions {
			grant(e, crumb{f.Name, f.URL() + "/share"})
		}
	}
	p.Effective = slices.SortedFunc(maps.Values(all), func(a, b rights) int {
		return cmp.Or(slices.Index(levels, b.Access)-slices.Index(levels, a.Access), strings.Compare(a.Principal, b.Principal))
	})
	return nil
}

// share adds an entry to the permission list of a folder, or changes one, or takes it away.
func (c *Console) share(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	id, do := v.id(), form.Get("do")
	if do == "leave" {
		status, err := v.change(call{method: "POST", path: "/vault/invitations/" + id + "/decline"}, nil)
		if p, told := refusal(err); told && p.Status == http.StatusNotFound {
			return &problem{Status: p.Status, Sentence: "You have this folder by a group, by a folder above it or because you own it, so you cannot leave it by yourself. Ask its owners."}
		}
		if err != nil {
			return err
		}
		return v.done("/folders", "leave", status)
	}
	p := sharePage{Kind: form.Get("kind"), Who: strings.TrimSpace(form.Get("who")), Access: form.Get("access")}
	principal := form.Get("principal")
	list, version, err := v.permissions(id)
	if err != nil {
		return err
	}
	shown, query := form.Get("version"), url.Values{}
	at := slices.IndexFunc(list.Permissions, func(e permissionEntry) bool { return e.Principal == principal })
	switch {
	case do == "add":
		principal = cmp.Or(p.Kind, "user") + ":" + p.Who
		list.Permissions = slices.DeleteFunc(list.Permissions, func(e permissionEntry) bool { return e.Principal == principal })
		list.Permissions = append(list.Permissions, permissionEntry{Principal: principal, Access: p.Access})
		query.Set("mustExist", principal)
	case do == "set" && at >= 0:
		list.Permissions[at].Access = p.Access
	case do == "set": // somebody else has taken it away, and the version says so
		list.Permissions = append(list.Permissions, permissionEntry{Principal: principal, Access: p.Access})
	case do == "remove":
		list.Permissions = slices.DeleteFunc(list.Permissions, func(e permissionEntry) bool { return e.Principal == principal })
	default:
		return errNoForm
	}
	status, err := v.change(call{
		method: "PUT", path: "/vault/folders/" + id + "/permissions", query: query, match: `"` + shown + `"`,
		body: map[string]any{"permissions": list.Permissions},
	}, nil)
	if p.Problem, _ = refusal(err); p.Problem == nil {
		if err != nil {
			return err
		}
		return v.done("/folders/"+id+"/share", "share", status)
	}
	if p.Problem.Status == http.StatusConflict && shown != version {
		f, _, err := v.folder(id)
		if err != nil {
			return err
		}
		p.Stale = &conflict{What: "folder"}
		if p.Stale.Events, err = v.folderEvents(f); err != nil {
			return err
		}
	}
	return c.showShare(v, p)
}

// answerInvitation accepts or declines an invitation.
func (c *Console) answerInvitation(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	do, page := form.Get("do"), "/folders"
	if do != "accept" && do != "decline" {
		return errNoForm
	}
	status, err := v.change(call{method: "POST", path: "/vault/invitations/" + v.id() + "/" + do}, nil)
	if err != nil {
		return err
	}
	if do == "accept" && status != http.StatusAccepted {
		page = "/folders/" + v.id()
	}
	return v.done(page, do, status)
}
