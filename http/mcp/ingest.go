package mcp

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"annals/commands/naming"
	"annals/events"
	"annals/events/fault"
	httpd "annals/http"
	"annals/http/ingest"

	"github.com/google/uuid"
)

// ingestTool returns the tool that imports files from disk. Its description lists the folders
// from which it may import.
func (h *Handler) ingestTool() tool {
	var roots []string
	for _, r := range h.roots {
		roots = append(roots, string(r))
	}
	return tool{
		name: "ingest", title: "Import files", effect: adds,
		about: `Imports files from the service's own disk. They are copied, and imported in the background: ` +
			`the tool returns a job_id immediately, for service_job_status. If a path cannot be imported, no file is, and the error lists every such path. ` +
			`These can be imported: ` + h.Limits.Formats.String() + `. Files on another machine are uploaded by POST /ingest instead.`,
		suffix: " The files must be below " + strings.Join(roots, " or ") + ".",
	}
}

type ingestIn struct {
	FilePaths    []string       `json:"file_paths" jsonschema:"absolute paths of files on the service's disk; links are not followed"`
	FileMetadata []fileMetadata `json:"file_metadata,omitempty" jsonschema:"one entry for each file, in the same order; without it the files go to your own inbox"`
}

type fileMetadata struct {
	FolderName string   `json:"folder_name,omitempty" jsonschema:"path of the folder for the document, such as Contracts/2026, which is created if it does not exist; without it, your own inbox"`
	Tags       []string `json:"tags,omitempty" jsonschema:"tags of the document"`
	Replace    bool     `json:"replace,omitempty" jsonschema:"whether the file becomes a new version of the document of its name in that folder, if there is one"`

	// under is the deepest existing folder on the path FolderName, and rest is the remaining
	// path below it. Both are empty if FolderName begins at the top level.
	under uuid.UUID
	rest  string
}

type ingestOut struct {
	JobID      string `json:"job_id" jsonschema:"id of the job, for service_job_status"`
	TotalFiles int    `json:"total_files" jsonschema:"number of files"`

	advice string
}

// ingest imports files as one job. It checks all arguments before it stores a file.
func (h *Handler) ingest(c call, in ingestIn) (out ingestOut, err error) {
	if n := len(in.FileMetadata); n > 0 && n != len(in.FilePaths) {
		return out, fault.Errorf(fault.Invalid, "file_metadata has %d entries for %d files: give one for each, in the order of file_paths", n, len(in.FilePaths))
	}
	places, err := h.places(c, in)
	if err != nil {
		return out, err
	}
	if err := h.checkPaths(c, in.FilePaths); err != nil {
		return out, err
	}
	intake := ingest.Intake{
		Store: h.Originals, FileBytes: h.Limits.FileBytes, Formats: h.Limits.Formats, Correlation: httpd.Correlation(c),
		Replaces: func(file int) bool { return places[file].Replace },
	}
	defer func() {
		if err := intake.Discard(); err != nil {
			h.Logger.ErrorContext(c, "discard files that were not imported", "error", fault.Detail(err))
		}
	}()
	if intake.Hold, err = h.Commands.HoldImport(c, c.user); err != nil {
		return out, err
	}
	if err := h.copyFiles(c, &intake, in.FilePaths); err != nil {
		return out, err
	}
	for i, p := range places {
		f := &intake.Files[i]
		f.Folder, f.Tags, f.Replace, f.Under, f.Rest = p.FolderName, p.Tags, p.Replace, p.under, p.rest
	}
	started, err := intake.Accept(c, h.Commands, c.user)
	if err != nil {
		return out, err
	}
	h.awaitWrite(c, started.Position)
	return ingestOut{started.Job.String(), len(in.FilePaths), h.named("service_job_status shows its progress.")}, nil
}

func (o ingestOut) markdown() string {
	return fmt.Sprintf("Job `%s` imports %s. %s", o.JobID, count(o.TotalFiles, "file"), o.advice)
}

// places returns the destination of each file. It fails if the caller may not write to one of
// them.
func (h *Handler) places(c call, in ingestIn) (places []fileMetadata, err error) {
	var folders []string
	for i := range in.FilePaths {
		place := fileMetadata{FolderName: naming.InboxFolder(c.user)}
		if len(in.FileMetadata) > 0 {
			given := in.FileMetadata[i]
			if given.FolderName != "" {
				if place.FolderName, err = naming.Folder(given.FolderName); err != nil {
					return nil, fault.Errorf(fault.Invalid, "file_metadata[%d].folder_name: %w", i, err)
				}
			}
			place.Replace = given.Replace
			if place.Tags, err = naming.Tags(given.Tags); err != nil {
				return nil, fault.Errorf(fault.Invalid, "file_metadata[%d].tags: %w", i, err)
			}
		}
		if place.under, place.rest, err = h.shownPlace(c, place.FolderName); err != nil {
			return nil, err
		}
		places = append(places, place)
		if place.under == uuid.Nil {
			folders = append(folders, place.FolderName)
		}
	}
	slices.Sort(folders)
	return places, h.Commands.CheckImport(c, c.user, slices.Compact(folders))
}

// shownPlace looks up a path that begins at a folder shared with the caller rather than at the
// top level. It returns the deepest existing folder on the path, and the remaining path below
// it. Both are empty if the path begins at the top level. It fails if the caller may not write
// there.
func (h *Handler) shownPlace(c call, path string) (under uuid.UUID, rest string, err error) {
	place, err := h.Queries.PlaceOf(c, c.user, path)
	if err != nil || !place.Shown || place.Near == uuid.Nil {
		return uuid.Nil, "", err
	}
	access, err := h.Queries.Access(c, c.user, place.Near)
	if err == nil && access < events.Write {
		err = fault.Errorf(fault.Forbidden, "you may not write in folder %q", path)
	}
	return place.Near, place.Rest, err
}

// maxBadPaths is the maximum number of paths in an error.
const maxBadPaths = 100

// checkPaths returns an error that lists the paths from which no file can be imported.
func (h *Handler) checkPaths(ctx context.Context, paths []string) error {
	var bad []string
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := openBelow(h.roots, path)
		if err != nil {
			bad = append(bad, fmt.Sprintf("- %q: %s", path, words(err)))
			continue
		}
		f.Close()
	}
	return badPaths(bad)
}

func badPaths(bad []string) error {
	if len(bad) == 0 {
		return nil
	}
	rest := ""
	if len(bad) > maxBadPaths {
		rest = fmt.Sprintf("\n- and %d more", len(bad)-maxBadPaths)
	}
	return fault.Errorf(fault.Invalid, "no file was imported, because these paths were refused:\n%s%s", strings.Join(bad[:min(len(bad), maxBadPaths)], "\n"), rest)
}

// copyFiles adds the files to intake. It opens them one at a time, so that many files do not
// exhaust the file descriptors.
func (h *Handler) copyFiles(ctx context.Context, intake *ingest.Intake, paths []string) error {
	left := h.Limits.UploadBytes
	for _, path := range paths {
		f, err := openBelow(h.roots, path)
		if err != nil {
			return badPaths([]string{fmt.Sprintf("- %q: %s", path, words(err))})
		}
		err = intake.Add(ctx, filepath.Base(path), f)
		f.Close()
		if err != nil {
			return err
		}
		if left -= intake.Files[len(intake.Files)-1].Size; left < 0 {
			return fault.Errorf(fault.TooLarge, "the files exceed the limit of %d bytes per import: import them in several calls", h.Limits.UploadBytes)
		}
	}
	return nil
}
