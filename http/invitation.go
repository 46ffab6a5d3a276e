package http

import (
	"annals/commands/foldertree"
	"annals/events"
	"annals/http/form"
	"annals/queries/vault"

	"github.com/google/uuid"
)

type invitation struct {
	FolderID   uuid.UUID        `json:"folderId"`
	FolderName string           `json:"folderName"`
	InvitedBy  events.Principal `json:"invitedBy"`
	Access     string           `json:"access"`
	InvitedAt  moment           `json:"invitedAt"`
}

func invitationBody(i vault.Invitation) invitation {
	return invitation{i.Folder, i.Name, i.By, i.Access.String(), moment(i.InvitedAt)}
}

type blockedInviter struct {
	Principal events.Principal `json:"principal"`
	Since     moment           `json:"since"`
}

func blockedBody(b vault.Blocked) blockedInviter { return blockedInviter{b.By, moment(b.Since)} }

// invitations handles GET /invitations.
func (s *Server) invitations(c *call) (any, error) {
	all, err := s.Queries.Invitations(c.Context(), c.user)
	return each(all, invitationBody), err
}

// acceptInvitation handles POST /invitations/{id}/accept.
func (s *Server) acceptInvitation(c *call, id uuid.UUID) (any, error) {
	at, err := s.Commands.AcceptInvitation(c.Context(), c.user, Correlation(c.Context()), foldertree.AcceptInvitation{Folder: id})
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, gone), nil
}

// declineInvitation handles POST /invitations/{id}/decline.
func (s *Server) declineInvitation(c *call, id uuid.UUID) (any, error) {
	at, err := s.Commands.DeclineInvitation(c.Context(), c.user, Correlation(c.Context()), foldertree.DeclineInvitation{Folder: id})
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, gone), nil
}

// blockedInviters handles GET /invitations/blocked.
func (s *Server) blockedInviters(c *call) (any, error) {
	all, err := s.Queries.BlockedInviters(c.Context(), c.user)
	return each(all, blockedBody), err
}

// unblockInviter handles DELETE /invitations/blocked.
func (s *Server) unblockInviter(c *call) (any, error) {
	f := form.NewQuery(c.Request)
	by := f.User("principal")
	if by == "" && f.Err() == nil {
		f.Wrong = append(f.Wrong, "principal should not be empty")
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.UnblockInviter(c.Context(), c.user, Correlation(c.Context()), foldertree.UnblockInviter{By: by})
	if err != nil {
		return nil, err
	}
	return s.made(c, at, uuid.Nil, gone), nil
}
