package pdfium

import (
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"
)

const (
	maxNotes    = 5_000 // maximum number of annotations that are read of a page
	maxAttached = 1_000 // maximum number of files attached to a document that are named
	maxOptions  = 1_000 // maximum number of options of a form field that are looked at
)

// forms is PDFium's handle of a document's form. PDFium needs it to find names and values
// that a field inherits. A nil forms means that the document has no form.
type forms struct {
	*engine
	handle references.FPDF_FORMHANDLE
}

// form opens the document's form. It returns nil if there is none.
func (d *document) form() *forms {
	kind, err := d.FPDF_GetFormType(&requests.FPDF_GetFormType{Document: d.ref})
	if err != nil || kind.FormType == enums.FPDF_FORMTYPE_NONE {
		return nil
	}
	// The callbacks do nothing, because nothing is displayed.
	env, err := d.FPDFDOC_InitFormFillEnvironment(&requests.FPDFDOC_InitFormFillEnvironment{
		Document: d.ref,
		FormFillInfo: structs.FPDF_FORMFILLINFO{
			Release:                func() {},
			FFI_Invalidate:         func(references.FPDF_PAGE, float64, float64, float64, float64) {},
			FFI_OutputSelectedRect: func(references.FPDF_PAGE, float64, float64, float64, float64) {},
			FFI_SetCursor:          func(enums.FXCT) {},
			FFI_SetTimer:           func(int, func(int)) int { return 0 },
			FFI_KillTimer:          func(int) {},
			FFI_GetLocalTime:       func() structs.FPDF_SYSTEMTIME { return structs.FPDF_SYSTEMTIME{} },
			FFI_OnChange:           func() {},
			FFI_GetPage: func(references.FPDF_DOCUMENT, int) *references.FPDF_PAGE {
				return nil
			},
			FFI_GetCurrentPage:     func(references.FPDF_DOCUMENT) *references.FPDF_PAGE { return nil },
			FFI_GetRotation:        func(references.FPDF_PAGE) enums.FPDF_PAGE_ROTATION { return 0 },
			FFI_ExecuteNamedAction: func(string) {},
		},
	})
	if err != nil {
		return nil
	}
	return &forms{d.engine, env.FormHandle}
}

func (f *forms) close() {
	if f != nil {
		f.FPDFDOC_ExitFormFillEnvironment(&requests.FPDFDOC_ExitFormFillEnvironment{FormHandle: f.handle})
	}
}

// notes adds the form fields, comments and attached files of a page.
func (d *document) notes(page requests.Page, out *Page) error {
	count, err := d.FPDFPage_GetAnnotCount(&requests.FPDFPage_GetAnnotCount{Page: page})
	if err != nil {
		return err
	}
	for i := range min(count.Count, maxNotes) {
		annot, err := d.FPDFPage_GetAnnot(&requests.FPDFPage_GetAnnot{Page: page, Index: i})
		if trapped(err) != nil {
			return err
		}
		if err != nil {
			continue
		}
		note := strings.TrimSpace(d.note(annot.Annotation, out))
		if note != "" {
			out.Notes = append(out.Notes, note)
		}
		_, err = d.FPDFPage_CloseAnnot(&requests.FPDFPage_CloseAnnot{Annotation: annot.Annotation})
		if trapped(err) != nil {
			return err
		}
	}
	return nil
}

// note returns the text of an annotation, or "".
func (d *document) note(annot references.FPDF_ANNOTATION, page *Page) string {
	kind, err := d.FPDFAnnot_GetSubtype(&requests.FPDFAnnot_GetSubtype{Annotation: annot})
	if err != nil {
		return ""
	}
	switch kind.Subtype {
	case enums.FPDF_ANNOT_SUBTYPE_LINK, enums.FPDF_ANNOT_SUBTYPE_POPUP:
		return ""
	}
	flags, err := d.FPDFAnnot_GetFlags(&requests.FPDFAnnot_GetFlags{Annotation: annot})
	if err == nil && flags.Flags&enums.FPDF_ANNOT_FLAG_HIDDEN != 0 {
		return ""
	}
	contents := d.value(annot, "Contents")
	if contents == "" { // text with styles, which is XHTML
		contents = strings.TrimSpace(html.UnescapeString(tag.ReplaceAllString(d.value(annot, "RC"), " ")))
	}
	switch kind.Subtype {
	case enums.FPDF_ANNOT_SUBTYPE_WIDGET:
		return d.field(annot, page)
	case enums.FPDF_ANNOT_SUBTYPE_FILEATTACHMENT:
		if name := d.attached(annot); name != contents {
			return join(" ", name, contents)
		}
		return contents
	case enums.FPDF_ANNOT_SUBTYPE_FREETEXT: // text added by a comment tool
		return contents
	case enums.FPDF_ANNOT_SUBTYPE_STAMP: // a standard stamp shows its name, for example Approved
		if name := d.value(annot, "Name"); contents == "" && !strings.HasPrefix(name, "#") {
			contents = name
		}
	}
	if contents == "" || d.value(annot, "StateModel") != "" { // a state, such as "accepted", is no text of a person
		return ""
	}
	return join(": ", d.value(annot, "T"), contents)
}

var tag = regexp.MustCompile(`<[^>]*>`)

// field returns a form field as "name: value", or "" if it is not filled in.
func (d *document) field(annot references.FPDF_ANNOTATION, page *Page) string {
	if d.forms == nil {
		return ""
	}
	form := d.forms.handle
	kind, err := d.FPDFAnnot_GetFormFieldType(&requests.FPDFAnnot_GetFormFieldType{FormHandle: form, Annotation: annot})
	if err != nil {
		return ""
	}
	name, value := d.fieldName(annot), ""
	switch kind.FormFieldType {
	case enums.FPDF_FORMFIELD_TYPE_PUSHBUTTON, enums.FPDF_FORMFIELD_TYPE_SIGNATURE:
		return ""
	case enums.FPDF_FORMFIELD_TYPE_CHECKBOX, enums.FPDF_FORMFIELD_TYPE_RADIOBUTTON:
		if value = d.checked(annot); value == "" {
			return ""
		}
		label := d.beside(annot, page)
		switch {
		case label == "":
		case kind.FormFieldType == enums.FPDF_FORMFIELD_TYPE_CHECKBOX:
			name = label
		default:
			value = label
		}
	case enums.FPDF_FORMFIELD_TYPE_COMBOBOX, enums.FPDF_FORMFIELD_TYPE_LISTBOX:
		value = d.selected(annot)
	}
	if value == "" {
		if got, err := d.FPDFAnnot_GetFormFieldValue(&requests.FPDFAnnot_GetFormFieldValue{FormHandle: form, Annotation: annot}); err == nil {
			value = got.FormFieldValue
		}
	}
	if value = strings.TrimSpace(value); value == "" {
		return ""
	}
	return join(": ", strings.TrimRight(name, ": "), value)
}

// fieldName returns the name of a form field for readers: its own, or the one that is meant for
// readers if its own is a path of a program, such as "form1[0].Page1[0].City[0]".
func (d *document) fieldName(annot references.FPDF_ANNOTATION) string {
	name := ""
	if got, err := d.FPDFAnnot_GetFormFieldName(&requests.FPDFAnnot_GetFormFieldName{FormHandle: d.forms.handle, Annotation: annot}); err == nil {
		name = got.FormFieldName
	}
	if name != "" && !strings.ContainsAny(name, "[]") {
		return name
	}
	if got, err := d.FPDFAnnot_GetFormFieldAlternateName(&requests.FPDFAnnot_GetFormFieldAlternateName{FormHandle: d.forms.handle, Annotation: annot}); err == nil && strings.TrimSpace(got.FormFieldAlternateName) != "" {
		return strings.TrimSpace(got.FormFieldAlternateName)
	}
	name = name[strings.LastIndexByte(name, '.')+1:]
	name, _, _ = strings.Cut(name, "[")
	return name
}

// checked returns the value of a check box or radio button, or "" if it is off. PDFium's own
// function needs the appearances, which not all files have.
func (d *document) checked(annot references.FPDF_ANNOTATION) string {
	state := d.value(annot, "AS")
	own := state != ""
	if !own {
		if got, err := d.FPDFAnnot_GetFormFieldValue(&requests.FPDFAnnot_GetFormFieldValue{FormHandle: d.forms.handle, Annotation: annot}); err == nil {
			state = got.FormFieldValue
		}
	}
	if state == "" || state == "Off" {
		return ""
	}
	got, err := d.FPDFAnnot_GetFormFieldExportValue(&requests.FPDFAnnot_GetFormFieldExportValue{FormHandle: d.forms.handle, Annotation: annot})
	switch {
	case err != nil || got.Value == "":
		return state
	case own || got.Value == state:
		return got.Value
	}
	return "" // another button of the group is on
}

// selected returns the selected options of a list as they are displayed.
func (d *document) selected(annot references.FPDF_ANNOTATION) string {
	form := d.forms.handle
	options, err := d.FPDFAnnot_GetOptionCount(&requests.FPDFAnnot_GetOptionCount{FormHandle: form, Annotation: annot})
	if err != nil {
		return ""
	}
	var labels []string
	for i := range min(options.OptionCount, maxOptions) {
		on, err := d.FPDFAnnot_IsOptionSelected(&requests.FPDFAnnot_IsOptionSelected{FormHandle: form, Annotation: annot, Index: i})
		if err != nil || !on.IsOptionSelected {
			continue
		}
		if label, err := d.FPDFAnnot_GetOptionLabel(&requests.FPDFAnnot_GetOptionLabel{FormHandle: form, Annotation: annot, Index: i}); err == nil {
			labels = append(labels, strings.TrimSpace(label.OptionLabel))
		}
	}
	return strings.Join(labels, ", ")
}

// beside returns the text of the page that begins right of a check box or radio button.
func (d *document) beside(annot references.FPDF_ANNOTATION, page *Page) string {
	got, err := d.FPDFAnnot_GetRect(&requests.FPDFAnnot_GetRect{Annotation: annot})
	if err != nil {
		return ""
	}
	box := d.displayedBox(got.Rect.Left, got.Rect.Bottom, got.Rect.Right, got.Rect.Top)
	height := box.Bottom - box.Top
	var label []string
	right := box.Right
	for i := range page.Lines {
		l := &page.Lines[i]
		for _, w := range l.Words {
			shared := min(w.Bottom, box.Bottom) - max(w.Top, box.Top)
			wide := 2*height + 6 // between the box and the text
			if label != nil {
				wide = w.Bottom - w.Top
			}
			if l.Turned || shared < 0.5*min(height, w.Bottom-w.Top) || w.X < right-3 || w.X > right+wide {
				continue
			}
			if label, right = append(label, w.Text), w.Right; len(label) == maxLabel {
				break
			}
		}
		if label != nil {
			break
		}
	}
	return strings.Join(label, " ")
}

const maxLabel = 12 // words

// attached returns the name of the file attached to an annotation.
func (d *document) attached(annot references.FPDF_ANNOTATION) string {
	file, err := d.FPDFAnnot_GetFileAttachment(&requests.FPDFAnnot_GetFileAttachment{Document: d.ref, Annotation: annot})
	if err != nil {
		return ""
	}
	return d.attachmentName(file.Attachment)
}

func (d *document) attachmentName(file references.FPDF_ATTACHMENT) string {
	name, err := d.FPDFAttachment_GetName(&requests.FPDFAttachment_GetName{Attachment: file})
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimRight(name.Name, "\x00"))
}

// attachments adds the names of the files attached to the document.
func (d *document) attachments(out *Page) {
	count, err := d.FPDFDoc_GetAttachmentCount(&requests.FPDFDoc_GetAttachmentCount{Document: d.ref})
	if err != nil {
		return
	}
	for i := range min(count.AttachmentCount, maxAttached) {
		file, err := d.FPDFDoc_GetAttachment(&requests.FPDFDoc_GetAttachment{Document: d.ref, Index: i})
		if err != nil {
			continue
		}
		if name := d.attachmentName(file.Attachment); name != "" && !slices.Contains(out.Notes, name) {
			out.Notes = append(out.Notes, "Attached file: "+name)
		}
	}
}

func (d *document) value(annot references.FPDF_ANNOTATION, key string) string {
	got, err := d.FPDFAnnot_GetStringValue(&requests.FPDFAnnot_GetStringValue{Annotation: annot, Key: key})
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimRight(got.Value, "\x00"))
}

// join returns a and b, separated by sep if neither is empty.
func join(sep, a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + sep + b
}
