package backup

import (
	"reflect"
	"testing"

	"annals/events"

	"github.com/google/uuid"
)

func FuzzParseRecord(f *testing.F) {
	f.Add(appendRecord(nil, events.Record{
		ID: uuid.MustParse("6f2a3c0e-2f0e-5b0b-9d0a-8c1d5a7e4b11"), Stream: "job-1", Revision: 2, Position: 300,
		Type: "FileStarted", Data: []byte(`{"file":1}`), Metadata: []byte(`{}`),
	}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRecord(b)
		if err != nil {
			return
		}
		again, err := parseRecord(appendRecord(nil, r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("parseRecord(appendRecord(%+v)): got %+v, %v", r, again, err)
		}
	})
}
