package pdfium

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// reserve moves PDFium's memory to a reserved address range, in which it can grow up to limit
// bytes. It returns how many bytes of the range are untouched. Otherwise wazero would copy the
// memory whenever it grows, and need room for both copies. go-pdfium has no option to set
// wazero's allocator, which reserve therefore sets in the memory itself.
func (e *engine) reserve(limit int64) (untouched int64, err error) {
	start := e.memory.Size()
	instance := reflect.Indirect(reflect.ValueOf(e.memory))
	if instance.Kind() != reflect.Struct {
		return 0, errors.New("reserve memory for PDFium: this version of wazero does not expose its memory")
	}
	buffer, largest, allocator := instance.FieldByName("Buffer"), instance.FieldByName("Max"), instance.FieldByName("expBuffer")
	if !buffer.CanSet() || buffer.Type() != reflect.TypeFor[[]byte]() || !largest.CanSet() || !largest.CanUint() ||
		!allocator.CanAddr() || allocator.Type() != reflect.TypeFor[experimental.LinearMemory]() {
		return 0, errors.New("reserve memory for PDFium: this version of wazero does not expose its memory")
	}
	limit = limit / wasmPage * wasmPage
	if limit <= int64(start) {
		return 0, nil
	}
	if e.reserved, err = unix.Mmap(-1, 0, int(limit), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE); err != nil {
		return 0, fmt.Errorf("reserve %d bytes of memory for PDFium: %w", limit, err)
	}
	copy(e.reserved, buffer.Bytes())
	buffer.Set(reflect.ValueOf(e.reserved[:start]))
	*(*experimental.LinearMemory)(allocator.Addr().UnsafePointer()) = linear{e} // the field is not exported
	largest.SetUint(wasmPages)                                                  // the allocator is asked, and limits the size
	if _, ok := e.memory.Grow(1); !ok {                                         // makes the compiled code use the new range
		return 0, errors.New("reserve memory for PDFium: its WebAssembly memory cannot grow")
	}
	debug.FreeOSMemory() // frees the old memory
	return limit - int64(start), nil
}

// linear is the allocator of PDFium's memory.
type linear struct{ *engine }

// Reallocate returns the first size bytes of the reserved range. If it is shorter, PDFium gets
// no more memory.
func (l linear) Reallocate(size uint64) []byte {
	if size > uint64(len(l.reserved)) {
		l.short = true
		return nil
	}
	return l.reserved[:size]
}

// Free does nothing, because the engine frees the range.
func (l linear) Free() {}

func unmap(b []byte) error { return unix.Munmap(b) }
