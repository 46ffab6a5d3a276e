package mcp

import (
	"context"

	"annals/commands"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is the description of a tool for agents.
type tool struct {
	name         string // without the prefix
	title, about string
	where        string // appended to about, with its names unchanged
	effect       effect
	free         bool // its time is not charged: it reports on a job that was charged
}

// effect is what a tool changes.
type effect int

const (
	reads effect = iota
	adds
	deletes
	settles // gives an answer that repeated calls do not change
)

func (e effect) annotations(title string) *sdk.ToolAnnotations {
	destructive, open := e == deletes, false
	return &sdk.ToolAnnotations{
		Title: title, ReadOnlyHint: e == reads, DestructiveHint: &destructive, OpenWorldHint: &open,
		IdempotentHint: e != adds,
	}
}

// output is what a tool returns: its fields as data, and a readable text.
type output interface{ markdown() string }

// paged is output that may have a next page.
type paged interface{ next() string }

// more is the part of an output with the next page's cursor.
type more struct {
	NextCursor string `json:"next_cursor,omitempty" jsonschema:"there is more: call again with this as cursor; absent on the last page"`
}

func (m more) next() string { return m.NextCursor }

// add offers a tool.
func add[In any, Out output](h *Handler, s *sdk.Server, t tool, answer func(call, In) (Out, error)) {
	name := h.Prefix + t.name
	definition := &sdk.Tool{
		Name: name, Title: t.title, Description: h.named(t.about) + t.where, Annotations: t.effect.annotations(t.title),
		InputSchema: h.inputSchema(schemaOf[In](h)), OutputSchema: schemaOf[Out](h),
	}
	sdk.AddTool(s, definition, func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		c := caller(ctx)
		out, err := metered(h, c, t, len(req.Params.Arguments), func() (Out, error) { return answer(c, in) })
		if err != nil {
			return nil, out, h.shown(c, name, err)
		}
		text := out.markdown()
		if p, ok := any(out).(paged); ok && p.next() != "" {
			text += "\n\nThere is more: call " + name + " again with the same arguments and the cursor `" + p.next() + "`."
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, out, nil
	})
}

// metered charges the caller for a tool's time, given the length of its arguments, and
// slows down callers who continue after refusals.
func metered[Out any](h *Handler, c call, t tool, length int, answer func() (Out, error)) (out Out, err error) {
	defer func() {
		if err != nil {
			h.Brake.Refused(c, c.user.Principal, err)
		}
	}()
	if c.user.ReadOnly && t.effect != reads {
		return out, commands.ErrReadOnly
	}
	if t.effect != reads || t.free {
		return answer()
	}
	turn, err := h.Reads.Begin(c, c.user, length)
	if err != nil {
		return out, err
	}
	defer turn.End()
	return answer()
}

// addTools offers every tool that is configured.
func (h *Handler) addTools(s *sdk.Server) {
	add(h, s, listFoldersTool, h.listFolders)
	add(h, s, listTagsTool, h.listTags)
	add(h, s, listByFolderTool, h.listByFolder)
	add(h, s, listByTagTool, h.listByTag)
	add(h, s, searchTool, h.search)
	add(h, s, askTool, h.ask)
	add(h, s, markdownTool, h.markdown)
	add(h, s, metadataTool, h.metadata)
	add(h, s, jobTool, h.jobStatus)
	add(h, s, listInvitationsTool, h.listInvitations)
	add(h, s, acceptInvitationTool, h.acceptInvitation)
	add(h, s, declineInvitationTool, h.declineInvitation)
	add(h, s, healthTool, h.health)
	if len(h.roots) > 0 {
		add(h, s, h.ingestTool(), h.ingest)
	}
	if h.AllowDelete {
		add(h, s, deleteTool, h.deleteDocuments)
	}
}
