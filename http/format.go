package http

// formats handles GET /formats. It lists the files that can be imported.
func (s *Server) formats(*call) (any, error) {
	type format struct {
		Extension string `json:"extension"`
		MediaType string `json:"media_type"`
		Pages     bool   `json:"pages"`
	}
	var out struct {
		Formats []format `json:"formats"`
	}
	for _, f := range s.Limits.Formats {
		out.Formats = append(out.Formats, format{f.Extension, f.MediaType, f.Pages})
	}
	return out, nil
}
