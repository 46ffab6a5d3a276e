package mcp

import (
	"context"

	"annals/commands"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool describes a tool.
type tool struct {
	name         string // without the configured prefix
	title, about string
	suffix       string // appended to the description; named does not replace tool names in it
	effect       effect
	free         bool // the duration of its calls is not charged
}

// effect says what a tool can change.
type effect int

const (
	reads effect = iota
	adds
	deletes
	settles // repeating a call has no further effect
)

func (e effect) annotations(title string) *sdk.ToolAnnotations {
	destructive, open := e == deletes, false
	return &sdk.ToolAnnotations{
		Title: title, ReadOnlyHint: e == reads, DestructiveHint: &destructive, OpenWorldHint: &open,
		IdempotentHint: e != adds,
	}
}

// output is the result of a tool call. Its exported fields become the structured content, and
// markdown returns the text.
type output interface{ markdown() string }

// paged is an output that may have a next page.
type paged interface{ next() string }

// more is embedded in paged outputs.
type more struct {
	NextCursor string `json:"next_cursor,omitempty" jsonschema:"there is more: call again with this as cursor; absent on the last page"`
}

func (m more) next() string { return m.NextCursor }

// add registers a tool with the function that runs it.
func add[In any, Out output](h *Handler, s *sdk.Server, t tool, run func(call, In) (Out, error)) {
	name := h.Prefix + t.name
	definition := &sdk.Tool{
		Name: name, Title: t.title, Description: h.named(t.about) + t.suffix, Annotations: t.effect.annotations(t.title),
		InputSchema: h.inputSchema(schemaOf[In](h)), OutputSchema: schemaOf[Out](h),
	}
	sdk.AddTool(s, definition, func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		c := caller(ctx)
		out, err := metered(h, c, t, len(req.Params.Arguments), func(c call) (Out, error) { return run(c, in) })
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

// metered runs a tool call and charges the user for its duration, unless the tool is free.
// length is the length of the arguments in bytes. If a user keeps sending calls that are
// refused, the replies are delayed.
func metered[Out any](h *Handler, c call, t tool, length int, run func(call) (Out, error)) (out Out, err error) {
	defer func() {
		if err != nil {
			h.Brake.Refused(c, c.user.Principal, err)
		}
	}()
	if c.user.ReadOnly && t.effect != reads {
		return out, commands.ErrReadOnly
	}
	if t.effect != reads || t.free {
		return run(c)
	}
	read, err := h.Reads.Begin(c, c.user, length)
	if err != nil {
		return out, err
	}
	defer read.End()
	c.idle = read.Idle
	return run(c)
}

// addTools registers the tools that the options allow.
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
	add(h, s, rereadTool, h.rereadDocuments)
	add(h, s, healthTool, h.health)
	if len(h.roots) > 0 {
		add(h, s, h.ingestTool(), h.ingest)
	}
	if h.AllowDelete {
		add(h, s, deleteTool, h.deleteDocuments)
	}
}
