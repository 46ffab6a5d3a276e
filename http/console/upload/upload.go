// Package upload turns the form of a browser with files into an upload of the REST interface. It
// imports no other package of this module.
package upload

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"path"
	"strings"
)

// ErrTooLong is the error for a folder or tags that nobody has typed.
var ErrTooLong = errors.New("the folder or the tags are too long")

// Form is a form with files, which becomes an upload of the REST interface as it arrives. Only the
// places of the files are kept in memory.
type Form struct {
	Folder, Tags string // as typed, once they were read
	Files        int    // that were copied
	Err          error  // why Run ended early

	from  *multipart.Reader
	first *multipart.Part // that Key has read and Run has not; nil for none
	to    *multipart.Writer

	list []string // tags
}

// place is the element of file_metadata for a file.
type place struct {
	Folder string   `json:"folder_name"`
	Tags   []string `json:"tags"`
	Shown  bool     `json:"shown"`
}

// New returns the form that has the given parts, of which the token was read.
func New(from *multipart.Reader, to *multipart.Writer) *Form {
	return &Form{from: from, to: to, list: []string{}}
}

// Key reads the key of the upload, which is the next field of the form, if it has one. It must be
// called before Run.
func (f *Form) Key() (string, error) {
	part, err := f.next()
	if err == io.EOF {
		return "", nil
	}
	if err != nil || part.FormName() != "key" {
		f.first = part
		return "", err
	}
	return shortField(part)
}

// next returns the next part of the form.
func (f *Form) next() (part *multipart.Part, err error) {
	if part, f.first = f.first, nil; part != nil {
		return part, nil
	}
	return f.from.NextRawPart()
}

// Run copies the form. inbox returns the path of the folder for files that have none.
func (f *Form) Run(inbox func() (string, error)) (err error) {
	defer func() { f.Err = err }()
	places := []place{}
	for {
		part, err := f.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		switch part.FormName() {
		case "folder":
			f.Folder, err = shortField(part)
		case "tags":
			f.Tags, err = shortField(part)
			f.list = splitTags(f.Tags)
		case "files":
			// The name may have the path of the file in a folder that was chosen, which
			// part.FileName would remove.
			_, params, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
			name := params["filename"]
			if name == "" {
				continue // nothing was chosen in this field
			}
			above := path.Dir(path.Clean("/" + strings.ReplaceAll(name, `\`, "/")))
			if f.Folder == "" && above != "/" {
				if f.Folder, err = inbox(); err != nil {
					return err
				}
			}
			places = append(places, place{strings.Trim(strings.Trim(f.Folder, "/ ")+above, "/"), f.list, true})
			f.Files++
			var w io.Writer
			if w, err = f.to.CreateFormFile("files", path.Base("/"+name)); err == nil {
				_, err = io.Copy(w, part)
			}
		}
		if err != nil {
			return err
		}
	}
	text, err := json.Marshal(places)
	if err != nil {
		return err
	}
	return errors.Join(f.to.WriteField("file_metadata", string(text)), f.to.Close())
}

// shortField reads a field of a form with a line of text.
func shortField(part io.Reader) (string, error) {
	const most = 16 << 10
	text, err := io.ReadAll(io.LimitReader(part, most+1))
	if len(text) > most {
		return "", ErrTooLong
	}
	return strings.TrimSpace(string(text)), err
}

// splitTags returns the tags in a text, in which they are separated by commas.
func splitTags(text string) []string {
	tags := []string{}
	for tag := range strings.SplitSeq(text, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}
