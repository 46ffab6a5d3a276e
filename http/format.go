package http

import "annals/commands/naming"

// formats handles GET /formats. It lists the files that can be imported.
func (s *Server) formats(c *call) (any, error) {
	type format struct {
		Extension string `json:"extension"`
		MediaType string `json:"media_type"`
		Pages     bool   `json:"pages"`
	}
	out := struct {
		Formats     []format `json:"formats"`
		FileBytes   int64    `json:"file_bytes"`
		Files       int      `json:"files"`
		UploadBytes int64    `json:"upload_bytes"`
		Inbox       string   `json:"inbox"`
	}{nil, s.Limits.FileBytes, s.Limits.Files, s.Limits.UploadBytes, naming.InboxFolder(c.user)}
	for _, f := range s.Limits.Formats {
		out.Formats = append(out.Formats, format{f.Extension, f.MediaType, f.Pages})
	}
	return out, nil
}
