package http

import "annals/commands"

// AskedTag returns a tag that is asked for as it would be kept, so that it
// is found however it was typed. What cannot be a tag stays as it is, and no
// document has it.
func AskedTag(tag string) string {
	if kept, err := commands.NormalizeTags([]string{tag}); err == nil {
		return kept[0]
	}
	return tag
}
