package http

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"annals/commands"
	"annals/events"

	"github.com/google/uuid"
)

type permissionsBody struct {
	Owners      []events.Principal `json:"owners"`
	Permissions []permission       `json:"permissions"`
}

// permission is an entry of a folder's list. A pending one grants nothing until
// its user accepts.
type permission struct {
	events.Permission
	Pending bool `json:"pending,omitempty"`
}

// permissions answers GET /folders/{id}/permissions.
func (s *Server) permissions(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
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
	return vaultDialect.tagged(http.StatusOK, permissionsTag(p.Version), body), err
}

// shareFolder answers PUT /folders/{id}/permissions.
func (s *Server) shareFolder(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	f, err := s.readFields(c)
	if err != nil {
		return nil, err
	}
	f.get("owners") // so that what was read can be sent back; they own it whatever the list says
	share := commands.ShareFolder{ID: id, Permissions: []events.Permission{}}
	for _, p := range f.objects("permissions", commands.MaxPermissions) {
		who := events.Principal(p.text("principal"))
		share.Permissions = append(share.Permissions, events.Permission{
			Principal: who, Access: p.oneOf("access", events.Read.String(), events.Write.String(), events.Own.String()),
		})
		if p.optionalBool("pending") {
			share.Pending = append(share.Pending, who)
		}
	}
	share.Version = c.versionForFolder(f.wrong)
	if err := f.err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.ShareFolder(c.Context(), c.user, Correlation(c.Context()), share)
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, func(ctx context.Context) (reply, error) { return s.showPermissions(ctx, c, id) }), nil
}
