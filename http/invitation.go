package http

import (
	"annals/commands"
	"annals/events"
	"annals/queries"

	"github.com/google/uuid"
)

type invitation struct {
	FolderID   uuid.UUID        `json:"folderId"`
	FolderName string           `json:"folderName"`
	InvitedBy  events.Principal `json:"invitedBy"`
	Access     string           `json:"access"`
	InvitedAt  moment           `json:"invitedAt"`
}

func invitationBody(i queries.Invitation) invitation {
	return invitation{i.Folder, i.Name, i.By, i.Access.String(), moment(i.InvitedAt)}
}

type blockedInviter struct {
	Principal events.Principal `json:"principal"`
	Since     moment           `json:"since"`
}

func blockedBody(b queries.Blocked) blockedInviter { return blockedInviter{b.By, moment(b.Since)} }

// invitations answers GET /invitations.
func (s *Server) invitations(c *call) (any, error) {
	all, err := s.Queries.Invitations(c.Context(), c.user)
	return each(all, invitationBody), err
}

// acceptInvitation answers POST /invitations/{id}/accept.
func (s *Server) acceptInvitation(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	at, err := s.Commands.AcceptInvitation(c.Context(), c.user, Correlation(c.Context()), commands.AcceptInvitation{Folder: id})
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, gone), nil
}

// declineInvitation answers POST /invitations/{id}/decline.
func (s *Server) declineInvitation(c *call) (any, error) {
	id, err := c.pathID()
	if err != nil {
		return nil, err
	}
	at, err := s.Commands.DeclineInvitation(c.Context(), c.user, Correlation(c.Context()), commands.DeclineInvitation{Folder: id})
	if err != nil {
		return nil, err
	}
	return s.made(c, at, id, gone), nil
}

// blockedInviters answers GET /invitations/blocked.
func (s *Server) blockedInviters(c *call) (any, error) {
	all, err := s.Queries.BlockedInviters(c.Context(), c.user)
	return each(all, blockedBody), err
}

// unblockInviter answers DELETE /invitations/blocked.
func (s *Server) unblockInviter(c *call) (any, error) {
	f := newFilter(c.Request)
	by := f.user("principal")
	if by == "" && f.err() == nil {
		f.wrong = append(f.wrong, "principal should not be empty")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	at, err := s.Commands.UnblockInviter(c.Context(), c.user, Correlation(c.Context()), commands.UnblockInviter{By: by})
	if err != nil {
		return nil, err
	}
	return s.made(c, at, uuid.Nil, gone), nil
}
