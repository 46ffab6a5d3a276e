package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"annals/commands"
	"annals/commands/importer/extract/process"
	"annals/commands/importer/turns"
	"annals/commands/quota"
	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"

	"github.com/google/uuid"
)

var (
	// errUnknownFile means that the job, or the file in it, does not exist.
	errUnknownFile = errors.New("no such file to import")
	// errFiled ends the reading of a file that is filed already.
	errFiled = errors.New("the file is filed already")
	// errTooLong is the cause if the work on a file exceeds its timeout.
	errTooLong = errors.New("the time for importing one file is over")
)

// maxRuns bounds how often a file is read again because of conflicts.
const maxRuns = 5

// importFile imports a file from the start, skipping steps that were done before. It
// returns nil if the work on the file has ended, in this call or earlier.
func (i *Importer) importFile(ctx context.Context, w Work) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := time.AfterFunc(i.timeout(), func() { cancel(errTooLong) })
	defer clock.Stop()
	err := i.workOn(ctx, w, clock)
	if err == nil {
		i.forget(w)
	} else if context.Cause(ctx) == errTooLong {
		return fault.Errorf(fault.Invalid, "importing the file took longer than %v: split it, or upload it again later", i.timeout())
	}
	return err
}

// workOn does the work of importFile. clock cancels ctx after the timeout.
func (i *Importer) workOn(ctx context.Context, w Work, clock *time.Timer) error {
	file, err := i.Handler.FileToImport(ctx, w.Job, w.File)
	if fault.Is(err, fault.NotFound) {
		return fmt.Errorf("%w: %w", errUnknownFile, err)
	}
	if err != nil || file.Ended {
		return err
	}
	alone, err := i.suspect(w, file)
	if err != nil {
		return err
	}
	progress := &progress{importer: i, file: file, work: w, step: "reading"}
	turn := turnOf(ctx, file.User.Principal)
	defer progress.end()
	start := firstAttempt(file)
	for runs := 1; ; runs++ {
		r := run{Importer: i, file: file, clock: clock, progress: progress, turn: turn, alone: alone}
		r.text = textWriter{
			log: i.Handler.Log, file: file, attempt: start, end: start + maxAttempts, limit: cmp.Or(i.textBatch, maxTextBatch),
			spool: spool{dir: i.SpoolDir, most: i.textHeld},
		}
		r.text.bound(i.textMost)
		became, err := r.do(ctx)
		var died *process.Died
		if closed := r.text.spool.close(); closed != nil {
			i.logger().WarnContext(ctx, "a temporary file could not be removed", "error", closed)
		}
		if errors.As(err, &died) && i.Died != nil {
			i.Died()
		}
		switch {
		case err == nil:
			err = i.Handler.FinishFile(ctx, file, became, r.claim.Own && became.Outcome == events.OutcomeCreated)
			failpoint.Here(failpoint.FileFinished)
			return err
		case died != nil && alone == "":
			alone = "its reader ended: " + died.Detail
		case died != nil:
			return fault.Errorf(fault.Invalid, "the file crashed the process that read it, and then another one that read nothing else; it is not tried again: save it again, or export it as PDF or text, and upload that")
		case errors.Is(err, turns.ErrSuspended):
			runs-- // only conflicts count
		case runs < maxRuns && fault.Is(err, fault.Conflict) && ours(err):
			// Read the file again: it becomes another document.
		default:
			return err
		}
	}
}

// suspect returns why a file must be read alone, or "" if it need not be. An error means
// that it must not be read again.
func (i *Importer) suspect(w Work, file commands.ImportFile) (why string, err error) {
	if file.Alone >= maxAlone && !i.isolated(w) {
		return "", fault.Errorf(fault.Invalid, "the file was given up, because it crashed each process that read it, the last two while they read nothing else: save it again, or export it as PDF or text, and upload that")
	}
	switch {
	case file.Alone > 0:
		why = "its reader ended, or work on it was cut off, while it was read alone"
	case file.Starts >= suspectStarts && !i.isolated(w):
		why = fmt.Sprintf("work on it was cut off %d times", file.Starts)
	}
	return why, nil
}

// run is one reading of a file.
type run struct {
	*Importer
	file     commands.ImportFile
	clock    *time.Timer
	progress *progress
	turn     *turns.File
	alone    string // why it is read in a process of its own; "" if it is not

	located bool
	folder  uuid.UUID
	claim   commands.Claim // set once located
	text    textWriter
	hold    *quota.Hold // quota for the text, once it was read

	// elsewhere means that the user can read the same bytes in the document other.
	// asked means that this was looked up.
	elsewhere, asked bool
	other            uuid.UUID
}

// do files the upload unless it is filed already.
func (r *run) do(ctx context.Context) (events.FileImported, error) {
	file := r.fileNew
	if isRevision(r.file.Accepted) {
		file = r.revise
	}
	err := file(ctx)
	defer func() { r.hold.Close() }()
	if err == nil {
		err = r.Handler.SettleText(ctx, r.hold)
	}
	if err == nil {
		err = r.checkFolder(ctx, r.claim.Folder)
	}
	if err != nil && !errors.Is(err, errFiled) {
		return events.FileImported{}, err
	}
	return r.became(ctx)
}

// fileNew files the file as a new document.
func (r *run) fileNew(ctx context.Context) error {
	folder, found, err := r.Handler.FindFolder(ctx, r.file.User, r.file.Destination())
	if err != nil {
		return err
	}
	if found {
		err = r.locate(ctx, folder)
	} else if a := r.file.Accepted; a.Replace && a.Version > 0 {
		err = settle(commands.NoVersion(a)) // before a folder is created for it
	}
	var content events.Content
	if err == nil {
		content, err = r.read(ctx)
	}
	if err == nil {
		err = r.fileAs(ctx, content)
	}
	return err
}

// checkFolder returns an error if the folder was deleted while the file was being filed in
// it. This can happen because folders have their own stream, and a document in a deleted
// folder is not visible.
func (r *run) checkFolder(ctx context.Context, folder uuid.UUID) error {
	there, err := r.Handler.HasFolder(ctx, folder)
	if err == nil && !there {
		err = fault.Errorf(fault.Invalid, "folder %q was deleted while the file was being filed in it", r.file.Accepted.Folder)
	}
	return err
}

// locate finds the claim of the file in its folder; errFiled if its document exists.
func (r *run) locate(ctx context.Context, folder uuid.UUID) (err error) {
	if r.file.Accepted.Replace {
		r.located, r.folder = true, folder
		return r.locateReplaced(ctx)
	}
	r.claim, err = r.Handler.ClaimDocument(ctx, r.document(folder, events.Content{SHA256: r.file.Accepted.SHA256}))
	if err != nil {
		return err
	}
	if r.claim.Filed {
		return errFiled
	}
	r.located, r.folder, r.text.document = true, folder, r.claim.Document
	return nil
}

// ensureLocated creates the folder if it does not exist. It is called after the file was
// read, so a file that cannot be read leaves no folder.
func (r *run) ensureLocated(ctx context.Context) error {
	if r.located {
		return nil
	}
	folder, err := r.Handler.EnsureFolder(ctx, r.file.User, r.file.Cause, r.file.Destination())
	if err != nil {
		return err
	}
	failpoint.Here(failpoint.FolderReady)
	return r.locate(ctx, folder)
}

// fileAs creates the document, unless one with the same bytes has come into the folder
// under another id. Access is checked again, because it may have been withdrawn since the
// upload.
func (r *run) fileAs(ctx context.Context, content events.Content) (err error) {
	if err := r.progress.at(ctx, "filing", ""); err != nil {
		return err
	}
	if r.file.Accepted.Replace {
		return r.fileReplacement(ctx, content)
	}
	command := r.document(r.folder, content)
	if err := r.duplicate(ctx, command); err != nil {
		return err
	}
	r.claim, err = r.Handler.ImportDocument(ctx, command)
	failpoint.Here(failpoint.DocumentFiled)
	return r.refused(ctx, err)
}

// duplicate returns errFiled if the read side knows a document with the same bytes
// in the folder.
func (r *run) duplicate(ctx context.Context, command commands.ImportDocument) error {
	if err := r.lookElsewhere(ctx, r.folder); err != nil || !r.elsewhere {
		return err
	}
	claim, found, err := r.Handler.KnownDuplicate(ctx, command, r.other)
	if err == nil && found {
		r.claim, err = claim, errFiled
	}
	return err
}

// refused returns err, and for fault.Forbidden an error that names the folder.
func (r *run) refused(ctx context.Context, err error) error {
	if !fault.Is(err, fault.Forbidden) {
		return err
	}
	if err := r.checkFolder(ctx, r.folder); err != nil {
		return err
	}
	return fault.Errorf(fault.Forbidden, "you may not write in folder %q", r.file.Accepted.Folder)
}

// document returns the command that files the upload in a folder.
func (r *run) document(folder uuid.UUID, content events.Content) commands.ImportDocument {
	return commands.ImportDocument{
		ID: r.claim.Document, Folder: folder, Name: r.file.Accepted.Name, Tags: r.file.Accepted.Tags, Content: content,
		User: r.file.User, Cause: r.file.Cause, EventID: r.file.EventID,
	}
}

// lookElsewhere asks the read side whether the user can read the same bytes in another
// document, preferring one in the folder. It must be called before the document is
// created, because the query could find that document.
func (r *run) lookElsewhere(ctx context.Context, folder uuid.UUID) (err error) {
	if r.asked || r.Handler.Duplicates == nil {
		return nil
	}
	var found bool
	r.other, found, err = r.Handler.Duplicates.DuplicateOf(ctx, r.file.User, folder, r.file.Accepted.SHA256)
	r.elsewhere, r.asked = found && r.other != r.claim.Document, true
	return err
}

// became returns the outcome. The file is a duplicate if its document existed before, or
// if the user can read the same bytes in another document. A new version of a document is
// never a duplicate.
func (r *run) became(ctx context.Context) (events.FileImported, error) {
	if r.claim.Own && !isRevision(r.file.Accepted) {
		// With its own folder the query would find the document itself.
		if err := r.lookElsewhere(ctx, uuid.Nil); err != nil {
			return events.FileImported{}, err
		}
	}
	became := events.FileImported{
		Document: r.claim.Document, Title: r.claim.Title, Warnings: r.claim.Warnings,
		Duplicate: !r.claim.Own || r.elsewhere, Outcome: events.OutcomeUnchanged,
	}
	switch {
	case r.file.Accepted.Replace:
		became.Outcome, became.Duplicate = r.claim.Outcome, r.claim.Same || r.elsewhere
		became.Warnings = append(became.Warnings, r.claim.Notes...)
	case r.claim.Own && isRevision(r.file.Accepted):
		became.Outcome = events.OutcomeUpdated
	case r.claim.Own:
		became.Outcome = events.OutcomeCreated
	}
	return became, nil
}
