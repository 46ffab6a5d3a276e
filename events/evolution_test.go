package events

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestHowAnEventChanges is the example to copy for whoever must change an
// event. What is stored stays as it is, and only this package knows that it was
// once written otherwise: a library's loans here, over three releases.
//
//   - A field that may be left out, and then means what it meant before there
//     was one, needs no new version: it gets omitempty, a line in the schema,
//     and a payload of its own in testdata.
//   - Any other field, another name, another unit is a new version of the kind:
//     register with that version, a file in schema/events, a payload in testdata.
//     The old struct stays, unexported, with an upgrade to the next version alone,
//     and an entry of its own in decoders.
//   - A split is new types, written from now on in one append. The old type is
//     written no more and read for ever, as one event that carries both.
//
// Either way events of the new kind go into the released log, and every
// projection whose tables the change alters gets another Version.
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
		t.Errorf("the same story is told as %+v by the old events, as %+v by the new", then, now)
	}
}

// LoanMade is what is written today. Version 3 gave Reader its name.
type LoanMade struct {
	Book   string `json:"book"`
	Reader string `json:"reader"`
	Days   int    `json:"days"`
}

// loanMadeV2 told how long a loan is.
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

// upgrade fills in what was true of every loan then. Today's default may be
// another, and must not be asked for.
func (l loanMadeV1) upgrade() Data { return loanMadeV2{Book: l.Book, Who: l.Who, Days: 14}.upgrade() }

// BookReturned and FinePaid are what LoanEnded was split into.
type BookReturned struct {
	Book string `json:"book"`
}

// FinePaid says what was paid for a loan that was late.
type FinePaid struct {
	Amount int `json:"amount"`
}

// LoanEnded is not written any more. It cannot be read as two events: revision
// and position name one event each, and all who read hold on to them. A reader
// who stopped behind the first of two would go on behind both; the audit trail,
// which has a row for each position, would drop the second; a writer's expected
// revision would count events that are not there. So it stays one event, with
// the struct and schema that it had, and whoever folds takes its parts.
type LoanEnded struct {
	Book string `json:"book"`
	Fine int    `json:"fine"`
}

// Parts returns what would be written in its place today.
func (l LoanEnded) Parts() (BookReturned, FinePaid) {
	return BookReturned{Book: l.Book}, FinePaid{Amount: l.Fine}
}

func (LoanMade) eventType() string     { return "LoanMade" }
func (LoanEnded) eventType() string    { return "LoanEnded" }
func (BookReturned) eventType() string { return "BookReturned" }
func (FinePaid) eventType() string     { return "FinePaid" }

// loans is a read model.
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

// decodeOld reads a payload as the struct of then. It belongs beside decode once
// a kind has a second version.
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
