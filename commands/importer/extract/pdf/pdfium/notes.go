package pdfium

import (
	"strings"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"
)

const maxNotes = 5_000 // maximum number of annotations that are read of a page

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
		note := strings.TrimSpace(d.note(annot.Annotation))
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
func (d *document) note(annot references.FPDF_ANNOTATION) string {
	kind, err := d.FPDFAnnot_GetSubtype(&requests.FPDFAnnot_GetSubtype{Annotation: annot})
	if err != nil {
		return ""
	}
	switch kind.Subtype {
	case enums.FPDF_ANNOT_SUBTYPE_LINK, enums.FPDF_ANNOT_SUBTYPE_POPUP:
		return ""
	case enums.FPDF_ANNOT_SUBTYPE_WIDGET:
		return d.field(annot)
	case enums.FPDF_ANNOT_SUBTYPE_FILEATTACHMENT:
		return join(" ", d.attached(annot), d.value(annot, "Contents"))
	case enums.FPDF_ANNOT_SUBTYPE_FREETEXT: // text added by a comment tool
		return d.value(annot, "Contents")
	}
	contents := d.value(annot, "Contents")
	if contents == "" {
		return ""
	}
	return join(": ", d.value(annot, "T"), contents)
}

// field returns a form field as "name: value", or "" if it is not filled in.
func (d *document) field(annot references.FPDF_ANNOTATION) string {
	if d.forms == nil {
		return ""
	}
	kind, err := d.FPDFAnnot_GetFormFieldType(&requests.FPDFAnnot_GetFormFieldType{FormHandle: d.forms.handle, Annotation: annot})
	if err != nil {
		return ""
	}
	var value string
	switch kind.FormFieldType {
	case enums.FPDF_FORMFIELD_TYPE_PUSHBUTTON, enums.FPDF_FORMFIELD_TYPE_SIGNATURE:
		return ""
	case enums.FPDF_FORMFIELD_TYPE_CHECKBOX, enums.FPDF_FORMFIELD_TYPE_RADIOBUTTON:
		on, err := d.FPDFAnnot_IsChecked(&requests.FPDFAnnot_IsChecked{FormHandle: d.forms.handle, Annotation: annot})
		if err != nil || !on.IsChecked {
			return ""
		}
		value = d.value(annot, "AS")
	default:
		got, err := d.FPDFAnnot_GetFormFieldValue(&requests.FPDFAnnot_GetFormFieldValue{FormHandle: d.forms.handle, Annotation: annot})
		if err != nil {
			return ""
		}
		value = got.FormFieldValue
	}
	if value = strings.TrimSpace(value); value == "" {
		return ""
	}
	name := ""
	got, err := d.FPDFAnnot_GetFormFieldName(&requests.FPDFAnnot_GetFormFieldName{FormHandle: d.forms.handle, Annotation: annot})
	if err == nil {
		name = got.FormFieldName
	}
	return join(": ", name, value)
}

// attached returns the name of the file attached to an annotation.
func (d *document) attached(annot references.FPDF_ANNOTATION) string {
	file, err := d.FPDFAnnot_GetFileAttachment(&requests.FPDFAnnot_GetFileAttachment{Document: d.ref, Annotation: annot})
	if err != nil {
		return ""
	}
	name, err := d.FPDFAttachment_GetName(&requests.FPDFAttachment_GetName{Attachment: file.Attachment})
	if err != nil {
		return ""
	}
	return name.Name
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
