package pdfium

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"

	pdf "github.com/klippa-app/go-pdfium"
	"github.com/tetratelabs/wazero/api"
)

// functions is PDFium's WebAssembly module with a cache of its functions. go-pdfium looks up
// a function each time it calls it, and wazero allocates a stack for each lookup.
type functions struct {
	api.Module
	known map[string]api.Function
}

// ExportedFunction returns the function with the given name. Each call with this name returns
// the same object, so the function must not be called concurrently.
func (f *functions) ExportedFunction(name string) api.Function {
	known, ok := f.known[name]
	if !ok {
		known = f.Module.ExportedFunction(name)
		f.known[name] = known
	}
	return known
}

// keepFunctions replaces the module of an instance by a functions. It uses reflection,
// because the struct type with the field Module is not exported.
func keepFunctions(instance pdf.Pdfium) (*functions, error) {
	implementation := reflect.Indirect(reflect.ValueOf(instance.GetImplementation()))
	if implementation.Kind() != reflect.Struct {
		return nil, errors.New("cache the functions of PDFium: this version of go-pdfium does not expose its implementation")
	}
	field := implementation.FieldByName("Module")
	if !field.IsValid() || !field.CanSet() {
		return nil, errors.New("cache the functions of PDFium: this version of go-pdfium does not expose its WebAssembly module")
	}
	module, ok := field.Interface().(api.Module)
	if !ok {
		return nil, errors.New("cache the functions of PDFium: this version of go-pdfium does not use wazero")
	}
	f := &functions{module, map[string]api.Function{}}
	field.Set(reflect.ValueOf(f))
	return f, nil
}

// result is a function that remembers what its last call returned. go-pdfium keeps PDFium's
// handles to itself; this is how to get one.
type result struct {
	api.Function
	last uint64
}

// Call calls the function.
func (r *result) Call(ctx context.Context, params ...uint64) ([]uint64, error) {
	got, err := r.Function.Call(ctx, params...)
	r.last = 0
	if err == nil && len(got) > 0 {
		r.last = got[0]
	}
	return got, err
}

// direct calls functions of PDFium without go-pdfium, which allocates and frees memory in
// PDFium for every value. It is for functions that are called for each page, line or word.
// After the first trap, calls do nothing and return 0.
type direct struct {
	module  *functions
	memory  api.Memory
	loaded  *result // FPDF_LoadPage
	scratch uint64  // address of scratchBytes bytes in PDFium's memory
	stack   [8]uint64
	trap    error // of the first call that trapped

	boundingBox, pageWidth, pageHeight, pageRotation                 api.Function
	loadText, closeText, countChars, getText, charIndex              api.Function
	fontSize, fontWeight, charMatrix, charOrigin, looseBox, unmapped api.Function
	countObjects, pageObject, objectType, objectBounds, pathSegments api.Function
	formCount, formObject, textObject, objectFont                    api.Function
	imageMetadata, renderMode                                        api.Function
	fontEmbedded, fontData, fontBaseName, getUnicode                 api.Function
	drawMode, pathSegment, segmentPoint                              api.Function
}

const scratchBytes = 64

func newDirect(f *functions) (*direct, error) {
	d := &direct{module: f, memory: f.Memory()}
	for name, to := range map[string]*api.Function{
		"FPDF_GetPageBoundingBox": &d.boundingBox, "FPDF_GetPageWidthF": &d.pageWidth, "FPDF_GetPageHeightF": &d.pageHeight,
		"FPDFPage_GetRotation": &d.pageRotation, "FPDFText_LoadPage": &d.loadText, "FPDFText_ClosePage": &d.closeText,
		"FPDFText_CountChars": &d.countChars, "FPDFText_GetText": &d.getText, "FPDFText_GetCharIndexFromTextIndex": &d.charIndex,
		"FPDFText_GetFontSize": &d.fontSize, "FPDFText_GetFontWeight": &d.fontWeight, "FPDFText_GetMatrix": &d.charMatrix,
		"FPDFText_GetCharOrigin": &d.charOrigin, "FPDFText_GetLooseCharBox": &d.looseBox, "FPDFText_HasUnicodeMapError": &d.unmapped,
		"FPDFPage_CountObjects": &d.countObjects, "FPDFPage_GetObject": &d.pageObject, "FPDFPageObj_GetType": &d.objectType,
		"FPDFPageObj_GetBounds": &d.objectBounds, "FPDFPath_CountSegments": &d.pathSegments,
		"FPDFFormObj_CountObjects": &d.formCount, "FPDFFormObj_GetObject": &d.formObject,
		"FPDFImageObj_GetImageMetadata": &d.imageMetadata, "FPDFTextObj_GetTextRenderMode": &d.renderMode,
		"FPDFText_GetTextObject": &d.textObject, "FPDFTextObj_GetFont": &d.objectFont, "FPDFFont_GetIsEmbedded": &d.fontEmbedded,
		"FPDFPath_GetDrawMode": &d.drawMode, "FPDFPath_GetPathSegment": &d.pathSegment, "FPDFPathSegment_GetPoint": &d.segmentPoint,
		"FPDFFont_GetFontData": &d.fontData, "FPDFFont_GetBaseFontName": &d.fontBaseName, "FPDFText_GetUnicode": &d.getUnicode,
	} {
		if *to = f.ExportedFunction(name); *to == nil {
			return nil, fmt.Errorf("find PDFium's function %s: this version of PDFium does not export it", name)
		}
	}
	d.loaded = &result{Function: f.ExportedFunction("FPDF_LoadPage")}
	f.known["FPDF_LoadPage"] = d.loaded
	d.scratch = d.malloc(scratchBytes)
	return d, d.trap
}

// call calls a function and returns its result, or 0 if it has none.
func (d *direct) call(f api.Function, params ...uint64) uint64 {
	if d.trap != nil {
		return 0
	}
	d.stack[0] = 0
	copy(d.stack[:], params)
	if err := f.CallWithStack(context.Background(), d.stack[:]); err != nil {
		d.trap = &trap{err}
		return 0
	}
	return d.stack[0]
}

// fills calls a function that writes its result to scratch, and reports whether it did.
func (d *direct) fills(f api.Function, params ...uint64) bool {
	return int32(d.call(f, params...)) != 0
}

// floats returns n numbers of 32 bits that PDFium wrote to scratch.
func (d *direct) floats(n uint32) (out [6]float32) {
	b, _ := d.memory.Read(uint32(d.scratch), n*4)
	for i := range len(b) / 4 {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[i*4:]))
	}
	return out
}

// doubles returns n numbers of 64 bits that PDFium wrote to scratch.
func (d *direct) doubles(n uint32) (out [4]float64) {
	b, _ := d.memory.Read(uint32(d.scratch), n*8)
	for i := range len(b) / 8 {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[i*8:]))
	}
	return out
}

// malloc allocates memory in PDFium. It returns 0 if there is none.
func (d *direct) malloc(size int) uint64 {
	return d.call(d.module.ExportedFunction("malloc"), uint64(size))
}

func (d *direct) free(address uint64) { d.call(d.module.ExportedFunction("free"), address) }

// trap is the error of a call in which WebAssembly trapped. PDFium is then in an undefined
// state.
type trap struct{ error }

func (t *trap) Unwrap() error { return t.error }
