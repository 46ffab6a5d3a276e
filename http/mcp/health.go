package mcp

import "annals/events/fault"

var healthTool = tool{
	name: "health", title: "Check the service's health", free: true,
	about: `Reports whether the service is ready. Call it when other tools say that something is unavailable.`,
}

type healthIn struct{}

type healthOut struct {
	Status  string `json:"status" jsonschema:"ok, or unavailable: call again in a few seconds"`
	Message string `json:"message" jsonschema:"why it is unavailable, as a sentence"`
}

func (h *Handler) health(c call, _ healthIn) (healthOut, error) {
	err := h.Queries.Ready(c)
	if fault.Is(err, fault.Unavailable) {
		return healthOut{"unavailable", h.shown(c, healthTool.name, err).Error()}, nil
	}
	return healthOut{"ok", "The service answers."}, err
}

func (o healthOut) markdown() string { return "**" + o.Status + "**: " + o.Message }
