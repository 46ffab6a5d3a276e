package mcp

import "annals/events/fault"

var healthTool = tool{
	name: "health", title: "Ask whether the service answers", free: true,
	about: `Tells whether the service can answer everything at the moment. Call it when other tools say that something is unavailable.`,
}

type healthIn struct{}

type healthOut struct {
	Status  string `json:"status" jsonschema:"ok, or unavailable: call again in some seconds"`
	Message string `json:"message" jsonschema:"what is waited for, as a sentence"`
}

func (h *Handler) health(c call, _ healthIn) (healthOut, error) {
	err := h.Queries.Ready(c)
	if fault.Is(err, fault.Unavailable) {
		return healthOut{"unavailable", h.shown(c, healthTool.name, err).Error()}, nil
	}
	return healthOut{"ok", "The service answers."}, err
}

func (o healthOut) markdown() string { return "**" + o.Status + "**: " + o.Message }
