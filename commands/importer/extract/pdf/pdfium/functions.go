package pdfium

import (
	"errors"
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
func keepFunctions(instance pdf.Pdfium) (api.Module, error) {
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
	field.Set(reflect.ValueOf(&functions{module, map[string]api.Function{}}))
	return module, nil
}
