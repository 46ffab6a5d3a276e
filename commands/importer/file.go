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
	// errUnknownFile means that the job does not exist, or has no file with this number.
	errUnknownFile = errors.New("the file to import does not exist")
	// errFiled means that there is nothing left to do, because the file is filed already.
	errFiled = errors.New("the file is filed already")
	// errScanned means that a file has scanned pages, and must be read in a slot for such files.
	errScanned = errors.New("the file has scanned pages")
	// errTimeout is the cause of a context that ended because of Importer.FileTimeout.
	errTimeout = errors.New("importing the file timed out")
)

// maxRuns limits how often one call of importFile reads a file again because of conflicts.
const maxRuns = 5

// importFile imports a file from the start, and skips steps that were completed before. It
// returns nil if the file is finished, by this call or before.
func (i *Importer) importFile(ctx context.Context, ref fileRef) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := time.AfterFunc(i.timeout(), func() { cancel(errTimeout) })
	defer clock.Stop()
	err := i.runFile(ctx, ref, clock)
	if err == nil {
		i.forget(ref)
	} else if context.Cause(ctx) == errTimeout {
		return fault.Errorf(fault.Invalid, "importing the file took longer than %v: split it, or upload it again later", i.timeout())
	}
	return err
}

// runFile does the work of importFile. It uses clock to enforce the timeout: when clock
// fires, it cancels ctx.
func (i *Importer) runFile(ctx context.Context, ref fileRef, clock *time.Timer) error {
	file, err := i.Handler.FileToImport(ctx, ref.Job, ref.File)
	if fault.Is(err, fault.NotFound) {
		return fmt.Errorf("%w: %w", errUnknownFile, err)
	}
	if err != nil || file.Ended {
		return err
	}
	alone, err := i.suspect(ref, file)
	if err != nil {
		return err
	}
	progress := &progress{importer: i, file: file, ref: ref, step: "reading"}
	turn, scan := turnOf(ctx, file.User.Principal), false
	defer progress.end()
	start := firstAttempt(file)
	for runs := 1; ; runs++ {
		r := run{Importer: i, file: file, clock: clock, progress: progress, turn: turn, alone: alone, scan: scan}
		r.text = textWriter{
			log: i.Handler.Log, file: file, attempt: start, end: start + maxAttempts, batchLimit: cmp.Or(i.textBatch, maxTextBatch),
			spool: spool{dir: i.SpoolDir, memory: i.spoolMem},
		}
		r.text.setLimit(i.textLimit)
		became, err := r.do(ctx)
		var died *process.Died
		if closed := r.text.spool.close(); closed != nil {
			i.logger().WarnContext(ctx, "cannot remove a temporary file", "error", closed)
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
			alone = "its reader process died: " + died.Detail
		case died != nil:
			return fault.Errorf(fault.Invalid, "the file crashed the process that read it, and then another one that read only this file: save it again, or export it as PDF or text, and upload that")
		case errors.Is(err, turns.ErrSuspended):
			runs-- // a suspension is not a conflict
		case errors.Is(err, errScanned):
			turn, scan = turnOf(ctx, file.User.Principal), true
			runs--
			if i.SetAside != nil {
				i.SetAside(ref.Job, ref.File)
			}
		case runs < maxRuns && fault.Is(err, fault.Conflict) && serviceFault(err):
			// Another upload has taken the id of the file's document: read the file again.
		default:
			return err
		}
	}
}

// suspect returns why a file must be read alone, or "" if it need not be. An error means that
// the file was read alone too often and fails.
func (i *Importer) suspect(ref fileRef, file commands.ImportFile) (why string, err error) {
	if file.Alone >= maxAlone && !i.isolated(ref) {
		return "", fault.Errorf(fault.Invalid, "reading the file was given up: it crashed every process that read it, including two that read no other file: save it again, or export it as PDF or text, and upload that")
	}
	switch {
	case file.Alone > 0:
		why = "its reader process died, or its import was interrupted, while it was read alone"
	case file.Starts >= suspectStarts && !i.isolated(ref):
		why = fmt.Sprintf("its import was interrupted %d times", file.Starts)
	}
	return why, nil
}

// run is one attempt to read and file a file.
type run struct {
	*Importer
	file     commands.ImportFile
	clock    *time.Timer
	progress *progress
	turn     *turns.File
	alone    string // why it is read alone, in a new process; "" if it is not
	scan     bool   // it has scanned pages, which may be recognised in this run

	located bool
	folder  uuid.UUID
	claim   commands.Claim // valid if located is set
	text    textWriter
	hold    *quota.Hold // for the text; nil until the text is complete

	// hasOther means that the user can read another document with the same bytes; other is
	// that document. Both fields are valid only if lookedUp is set.
	hasOther, lookedUp bool
	other              uuid.UUID
}

// do runs the steps that are left until the upload is filed, and returns the outcome.
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
	return r.outcome(ctx)
}

// fileNew files an upload that is not a revision.
func (r *run) fileNew(ctx context.Context) error {
	folder, found, err := r.Handler.FindFolder(ctx, r.file.User, r.file.Destination())
	if err != nil {
		return err
	}
	if found {
		err = r.locate(ctx, folder)
	} else if a := r.file.Accepted; a.Replace && a.Version > 0 {
		err = markFinal(commands.NoVersion(a)) // fail before the folder is created
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
// it. Folders and documents have different streams, so the deletion does not make the append
// to the document's stream conflict. The document stays in the deleted folder, where nobody
// can see it.
func (r *run) checkFolder(ctx context.Context, folder uuid.UUID) error {
	exists, err := r.Handler.HasFolder(ctx, folder)
	if err == nil && !exists {
		err = fault.Errorf(fault.Invalid, "folder %q was deleted while the file was being filed in it", r.file.Accepted.Folder)
	}
	return err
}

// locate claims a document for the upload in a folder. The error is errFiled if the upload is
// filed already.
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

// ensureLocated calls locate if that was not done before, and creates the folder if it does
// not exist. It is called after the file was read, so no folder is created for a file that
// cannot be read.
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

// fileAs creates the document, unless the folder already contains a document with the same
// bytes under another id. It checks the user's access again, because the access may have been
// withdrawn since the upload.
func (r *run) fileAs(ctx context.Context, content events.Content) (err error) {
	if err := r.progress.at(ctx, "filing", ""); err != nil {
		return err
	}
	if r.file.Accepted.Replace {
		return r.fileReplacement(ctx, content)
	}
	command := r.document(r.folder, content)
	if err := r.checkDuplicate(ctx, command); err != nil {
		return err
	}
	r.claim, err = r.Handler.ImportDocument(ctx, command)
	failpoint.Here(failpoint.DocumentFiled)
	return r.explainRefusal(ctx, err)
}

// checkDuplicate returns errFiled if the read models find a document with the same bytes in
// the folder.
func (r *run) checkDuplicate(ctx context.Context, command commands.ImportDocument) error {
	if err := r.findOther(ctx, r.folder); err != nil || !r.hasOther {
		return err
	}
	claim, found, err := r.Handler.KnownDuplicate(ctx, command, r.other)
	if err == nil && found {
		r.claim, err = claim, errFiled
	}
	return err
}

// explainRefusal returns err, but replaces fault.Forbidden by an error that names the folder.
func (r *run) explainRefusal(ctx context.Context, err error) error {
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

// findOther queries the read models for another document with the same bytes that the user
// can read, preferably in the folder. It must be called before the upload's own document is
// created, because the query could find that document otherwise.
func (r *run) findOther(ctx context.Context, folder uuid.UUID) (err error) {
	if r.lookedUp || r.Handler.Duplicates == nil {
		return nil
	}
	var found bool
	r.other, found, err = r.Handler.Duplicates.DuplicateOf(ctx, r.file.User, folder, r.file.Accepted.SHA256)
	r.hasOther, r.lookedUp = found && r.other != r.claim.Document, true
	return err
}

// outcome returns the event for a filed upload. The upload is a duplicate if its document
// existed before, or if the user can read another document with the same bytes. A new version
// of a document is never a duplicate.
func (r *run) outcome(ctx context.Context) (events.FileImported, error) {
	if r.claim.Own && !isRevision(r.file.Accepted) {
		// Pass no folder: the query prefers documents in the folder, so it would return the
		// upload's own document.
		if err := r.findOther(ctx, uuid.Nil); err != nil {
			return events.FileImported{}, err
		}
	}
	became := events.FileImported{
		Document: r.claim.Document, Title: r.claim.Title, Warnings: r.claim.Warnings,
		Duplicate: !r.file.Accepted.Reread && (!r.claim.Own || r.hasOther), Outcome: events.OutcomeUnchanged,
	}
	switch {
	case r.file.Accepted.Replace:
		became.Outcome, became.Duplicate = r.claim.Outcome, r.claim.Same || r.hasOther
		became.Warnings = append(became.Warnings, r.claim.Notes...)
	case r.claim.Own && isRevision(r.file.Accepted):
		became.Outcome = events.OutcomeUpdated
	case r.claim.Own:
		became.Outcome = events.OutcomeCreated
	}
	return became, nil
}
