package events

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestHowAnEventChanges is an example to copy when an event has to change. It shows the
// events of a library's loans over three releases. Stored events are never rewritten,
// and only this package defines their old versions.
//
//   - An optional field, whose absence means the same as before the field existed,
//     needs no new version: add omitempty, a property to the schema, and another
//     payload to testdata.
//   - A required field, another name or another unit needs a new version: register it,
//     and add a file to schema/events and a payload to testdata. Keep the old struct,
//     unexported, with a method that upgrades it to the next version, and an entry in
//     decoders.
//   - To split an event, add new types, which are written in one append from now on.
//     The old type is no longer written, but stays readable as one event.
//
// In all cases add events of the new kind to the released log, and raise the Version
// of every projection whose tables change.
func TestHowAnEventChanges(t *testing.T) {
	library := codec{
		{"LoanMade", 1}:     decodeOld(loanMadeV1.upgrade),
		{"LoanMade", 2}:     decodeOld(loanMadeV2.upgrade),
		{"LoanMade", 3}:     decode[LoanMade],
		{"LoanEnded", 1}:    decode[LoanEnded],
		{"BookReturned", 1}: decode[BookReturned],
		{"FinePaid", 1}:     decode[FinePaid],
	}
	for _, c := range []struct {
		kind   Kind
		stored string
		want   Data
	}{
		{Kind{"LoanMade", 1}, `{"book":"Emma","who":"alice"}`, LoanMade{Book: "Emma", Reader: "alice", Days: 14}},
		{Kind{"LoanMade", 2}, `{"book":"Emma","who":"alice","days":0}`, LoanMade{Book: "Emma", Reader: "alice"}},
		{Kind{"LoanMade", 3}, `{"book":"Emma","reader":"alice","days":28}`, LoanMade{Book: "Emma", Reader: "alice", Days: 28}},
		{Kind{"LoanEnded", 1}, `{"book":"Emma","fine":3}`, LoanEnded{Book: "Emma", Fine: 3}},
	} {
		if e := library.decode(stored(c.kind, c.stored)); e.Err != nil || !reflect.DeepEqual(e.Data, c.want) {
			t.Errorf("%s %s was read as %+v, %v, want %+v", c.kind, c.stored, e.Data, e.Err, c.want)
		}
	}
	then := library.fold(t, stored(Kind{"LoanMade", 1}, `{"book":"Emma","who":"alice"}`), stored(Kind{"LoanEnded", 1}, `{"book":"Emma","fine":3}`))
	now := library.fold(t, stored(Kind{"LoanMade", 3}, `{"book":"Emma","reader":"alice","days":14}`),
		stored(Kind{"BookReturned", 1}, `{"book":"Emma"}`), stored(Kind{"FinePaid", 1}, `{"amount":3}`))
	if !reflect.DeepEqual(then, now) || now.fines != 3 || len(now.lent) != 0 {
		t.Errorf("loans folded from old events are %+v, from new events %+v, want the same", then, now)
	}
}

// LoanMade is the current version. Version 3 renamed Who to Reader.
type LoanMade struct {
	Book   string `json:"book"`
	Reader string `json:"reader"`
	Days   int    `json:"days"`
}

// loanMadeV2 added Days.
type loanMadeV2 struct {
	Book string `json:"book"`
	Who  string `json:"who"`
	Days int    `json:"days"`
}

func (l loanMadeV2) upgrade() Data { return LoanMade{Book: l.Book, Reader: l.Who, Days: l.Days} }

type loanMadeV1 struct {
	Book string `json:"book"`
	Who  string `json:"who"`
}

// upgrade fills in what was true of every loan at that time. It must not use the current
// default, which may differ.
func (l loanMadeV1) upgrade() Data { return loanMadeV2{Book: l.Book, Who: l.Who, Days: 14}.upgrade() }

// BookReturned and FinePaid are what LoanEnded was split into.
type BookReturned struct {
	Book string `json:"book"`
}

// FinePaid records the fine for a book that was returned too late.
type FinePaid struct {
	Amount int `json:"amount"`
}

// LoanEnded is no longer written: BookReturned and FinePaid replace it. Decoding a
// stored LoanEnded must not return two events, because they would share a position and a
// revision: a reader that stopped after the first event would skip the second. So
// LoanEnded keeps its struct and schema, and read models apply its Parts.
type LoanEnded struct {
	Book string `json:"book"`
	Fine int    `json:"fine"`
}

// Parts returns the events that the current release writes instead of LoanEnded.
func (l LoanEnded) Parts() (BookReturned, FinePaid) {
	return BookReturned{Book: l.Book}, FinePaid{Amount: l.Fine}
}

func (LoanMade) eventType() string     { return "LoanMade" }
func (LoanEnded) eventType() string    { return "LoanEnded" }
func (BookReturned) eventType() string { return "BookReturned" }
func (FinePaid) eventType() string     { return "FinePaid" }

// loans is a read model of the books that are lent.
type loans struct {
	lent  map[string]string
	fines int
}

func (l *loans) apply(data Data) {
	switch d := data.(type) {
	case LoanMade:
		l.lent[d.Book] = d.Reader
	case BookReturned:
		delete(l.lent, d.Book)
	case FinePaid:
		l.fines += d.Amount
	case LoanEnded:
		returned, paid := d.Parts()
		l.apply(returned)
		l.apply(paid)
	}
}

// decodeOld decodes a payload of an old version and upgrades it. Move it next to
// decode when an event gets its second version.
func decodeOld[T any](upgrade func(T) Data) func([]byte) (Data, error) {
	return func(b []byte) (Data, error) {
		var old T
		if err := json.Unmarshal(b, &old); err != nil {
			return nil, err
		}
		return upgrade(old), nil
	}
}

func stored(k Kind, data string) Record {
	metadata, err := json.Marshal(Metadata{Schema: k.Schema})
	if err != nil {
		panic(err)
	}
	return Record{Stream: "loan-1", Type: k.Type, Data: []byte(data), Metadata: metadata}
}

func (c codec) fold(t *testing.T, records ...Record) loans {
	t.Helper()
	l := loans{lent: make(map[string]string)}
	for _, r := range records {
		e := c.decode(r)
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		l.apply(e.Data)
	}
	return l
}
