package http

import (
	"context"
	"net/http"

	"annals/commands"
	"annals/events"

	"github.com/google/uuid"
)

type permissionsBody struct {
	Owners      []events.Principal  `json:"owners"`
	Permissions []events.Permission `json:"permissions"`
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
	body := permissionsBody{append([]events.Principal{}, p.Owners...), append([]events.Permission{}, p.List...)}
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
	share := commands.ShareFolder{ID: id, Permissions: []events.Permission{}}
	for _, p := range f.objects("permissions", commands.MaxPermissions) {
		share.Permissions = append(share.Permissions, events.Permission{
			Principal: events.Principal(p.text("principal")),
			Access:    p.oneOf("access", events.Read.String(), events.Write.String(), events.Own.String()),
		})
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
