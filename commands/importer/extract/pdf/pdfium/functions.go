package pdfium

import (
	"errors"
	"reflect"

	pdf "github.com/klippa-app/go-pdfium"
	"github.com/tetratelabs/wazero/api"
)

// functions is PDFium's module with its functions looked up once. Wazero allocates
// a stack for every lookup, and go-pdfium looks functions up for each call.
type functions struct {
	api.Module
	known map[string]api.Function
}

// ExportedFunction returns the function called name, the same one each time: calls
// of it must not overlap.
func (f *functions) ExportedFunction(name string) api.Function {
	known, ok := f.known[name]
	if !ok {
		known = f.Module.ExportedFunction(name)
		f.known[name] = known
	}
	return known
}

// keepFunctions lets all calls of an instance go through functions. Its module
// is an exported field of a type that go-pdfium does not export.
func keepFunctions(instance pdf.Pdfium) (api.Module, error) {
	implementation := reflect.Indirect(reflect.ValueOf(instance.GetImplementation()))
	if implementation.Kind() != reflect.Struct {
		return nil, errors.New("use go-pdfium: this version hides its implementation")
	}
	field := implementation.FieldByName("Module")
	if !field.IsValid() || !field.CanSet() {
		return nil, errors.New("use go-pdfium: this version hides its module")
	}
	module, ok := field.Interface().(api.Module)
	if !ok {
		return nil, errors.New("use go-pdfium: this version does not run on wazero")
	}
	field.Set(reflect.ValueOf(&functions{module, map[string]api.Function{}}))
	return module, nil
}
