package http

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/nearest"
	"annals/http/conditional"
	"annals/http/form"
	"annals/http/problem"

	"github.com/google/uuid"
)

type permissionsBody struct {
	Owners      []events.Principal `json:"owners"`
	Permissions []permission       `json:"permissions"`
}

// permission is an entry in a folder's permission list. An entry that is pending grants
// nothing until its user accepts the invitation.
type permission struct {
	events.Permission
	Pending bool `json:"pending,omitempty"`
}

// permissions handles GET /folders/{id}/permissions.
func (s *Server) permissions(c *call, id uuid.UUID) (any, error) {
	return s.showPermissions(c.Context(), c, id)
}

func (s *Server) showPermissions(ctx context.Context, c *call, id uuid.UUID) (reply, error) {
	p, err := s.Queries.Permissions(ctx, c.user, id)
	body := permissionsBody{append([]events.Principal{}, p.Owners...), []permission{}}
	for _, one := range p.List {
		body.Permissions = append(body.Permissions, permission{one, false})
	}
	for _, one := range p.Invited {
		body.Permissions = append(body.Permissions, permission{one, true})
	}
	slices.SortStableFunc(body.Permissions, func(a, b permission) int { return cmp.Compare(a.Principal, b.Principal) })
	return tagged(http.StatusOK, conditional.Permissions(p.Version), body), err
}

// shareFolder handles PUT /folders/{id}/permissions.
func (s *Server) shareFolder(c *call, id uuid.UUID) (any, error) {
	f, err := form.ReadFields(c.Request, s.Limits.JSONBytes)
	if err != nil {
		return nil, err
	}
	f.Get("owners") // ignored, so that the body of a GET can be sent back
	share := foldertree.ShareFolder{ID: id, Permissions: []events.Permission{}}
	for _, p := range f.Objects("permissions", foldertree.MaxPermissions) {
		who := events.Principal(p.Text("principal"))
		share.Permissions = append(share.Permissions, events.Permission{
			Principal: who, Access: p.OneOf("access", events.Read.String(), events.Write.String(), events.Own.String()),
		})
		if p.OptionalBool("pending") {
			share.Pending = append(share.Pending, who)
		}
	}
	share.Version = conditional.FolderVersion(c.Header, f.Wrong)
	query := form.NewQuery(c.Request)
	known, _ := query.One("mustExist", "mustExist must not be repeated")
	*f.Wrong = append(*f.Wrong, query.Wrong...)
	if err := f.Err(); err != nil {
		return nil, err
	}
	if known != "" && s.UserExists != nil {
		if err := s.checkExists(c, id, events.Principal(known)); err != nil {
			return nil, err
		}
	}
	at, err := s.Commands.ShareFolder(c.Context(), c.user, Correlation(c.Context()), share)
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, func(ctx context.Context) (reply, error) { return s.showPermissions(ctx, c, id) }), nil
}

// checkExists returns an error if the caller wants to share a folder with a user that does not
// exist. It checks only callers who may share the folder, and only principals that are not yet
// in its permission list: nobody else may find out which users exist.
func (s *Server) checkExists(c *call, folder uuid.UUID, who events.Principal) error {
	p, err := s.Queries.Permissions(c.Context(), c.user, folder)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(append(p.List, p.Invited...), func(e events.Permission) bool { return e.Principal == who }) {
		return nil
	}
	exists, err := s.UserExists(c.Context(), who)
	if err == nil && !exists {
		err = problem.Rejected{fmt.Sprintf("there is no user %q", nearest.Shortened(who.Name()))}
	}
	return err
}
