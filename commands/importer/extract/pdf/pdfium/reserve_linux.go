package pdfium

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// reserve moves PDFium's memory to a reserved range in which it can grow to most
// bytes. Wazero would copy it whenever it grows, and hold both copies for a moment;
// go-pdfium has no option for an allocator. It returns how many bytes are reserved
// and not touched yet.
func (e *engine) reserve(most int64) (untouched int64, err error) {
	start := e.memory.Size()
	// The type is not exported, but these fields are.
	instance := reflect.Indirect(reflect.ValueOf(e.memory))
	if instance.Kind() != reflect.Struct {
		return 0, errors.New("reserve memory for PDFium: this version of wazero hides its memory")
	}
	buffer, capacity := instance.FieldByName("Buffer"), instance.FieldByName("Cap")
	if !buffer.CanSet() || buffer.Type() != reflect.TypeFor[[]byte]() || !capacity.CanSet() || !capacity.CanUint() {
		return 0, errors.New("reserve memory for PDFium: this version of wazero hides its memory")
	}
	most = most / wasmPage * wasmPage
	if most <= int64(start) {
		return 0, nil
	}
	if e.reserved, err = unix.Mmap(-1, 0, int(most), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE); err != nil {
		return 0, fmt.Errorf("reserve %d bytes of memory for PDFium: %w", most, err)
	}
	copy(e.reserved, buffer.Bytes())
	buffer.Set(reflect.ValueOf(e.reserved[:start]))
	capacity.SetUint(uint64(most / wasmPage))
	if _, ok := e.memory.Grow(1); !ok { // so that the compiled code uses it
		return 0, errors.New("reserve memory for PDFium: it cannot grow")
	}
	debug.FreeOSMemory() // returns the memory that was copied
	return most - int64(start), nil
}

func unmap(b []byte) error { return unix.Munmap(b) }
