package events

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"annals/schema"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Verify reads the log up to position to, and calls problem for each problem that it
// finds: positions that do not increase, revisions of a stream with gaps or duplicates,
// ids that occur twice within a million events, events that cannot be read, and payloads
// that violate their JSON Schema. Gaps in a text that no document names are not a
// problem: compaction may remove such texts, and some engines do so step by step. After
// each batch Verify calls at, unless nil, with the position reached. It returns the
// number of events. Memory use does not grow with the log.
func (l *Log) Verify(ctx context.Context, to Position, at func(Position), problem func(string)) (count int, err error) {
	schemas, err := payloadSchemas()
	if err != nil {
		return 0, err
	}
	v := verification{driver: l.driver, next: make(map[string]int64), young: make(map[uuid.UUID]bool), gaps: make(map[string]string)}
	for after := Position(0); ; {
		const page = 1000
		records, through, err := l.driver.ReadAll(ctx, after, page, nil)
		if err != nil {
			return count, fmt.Errorf("read log after %d: %w", after, err)
		}
		for i, r := range records {
			if r.Position > to {
				records, through = records[:i], to
				break
			}
		}
		payloads := checkPayloads(schemas, records)
		for i, r := range records {
			if err := v.order(ctx, r, problem); err != nil {
				return count, err
			}
			if payloads[i] != "" {
				problem(fmt.Sprintf("%s: %s", place(r), payloads[i]))
			}
		}
		count += len(records)
		if at != nil {
			at(min(through, to))
		}
		if through <= after || through >= to {
			return count, nil
		}
		after = through
	}
}

// verification is the state of a verification between events.
type verification struct {
	driver Driver
	last   Position
	next   map[string]int64 // next revision of each recently seen stream
	// Recently seen event ids. When young is full, it becomes old, and young starts
	// empty.
	young, old map[uuid.UUID]bool
	// Problems to report if an event of a document names the text later: gaps, by text
	// stream.
	gaps map[string]string
}

// Limits of the state in memory.
const (
	nextStreams = 1 << 14
	youngIDs    = 1 << 20
	gapTexts    = 1 << 16
)

// duplicate reports whether an id was seen recently, and adds it.
func (v *verification) duplicate(id uuid.UUID) bool {
	if v.young[id] || v.old[id] {
		return true
	}
	if len(v.young) == youngIDs {
		v.old, v.young = v.young, make(map[uuid.UUID]bool, youngIDs)
	}
	v.young[id] = true
	return false
}

// order checks the position and revision of the next event. If its stream was not seen
// recently, the previous revision is looked up in the log.
func (v *verification) order(ctx context.Context, r Record, problem func(string)) error {
	if r.Position <= v.last {
		problem(fmt.Sprintf("%s: its position is not above that of an earlier event, %d", place(r), v.last))
	}
	v.last = max(v.last, r.Position)
	if v.duplicate(r.ID) {
		problem(fmt.Sprintf("%s: an earlier event has the same id %s", place(r), r.ID))
	}
	want, known := v.next[r.Stream]
	if !known && r.Revision > 0 {
		before, err := v.driver.ReadStream(ctx, r.Stream, r.Revision-1, 1)
		if err != nil {
			return fmt.Errorf("read stream %s: %w", r.Stream, err)
		}
		if len(before) == 1 && before[0].Revision == r.Revision-1 && before[0].Position < r.Position {
			want = r.Revision
		}
	}
	if content, ok := contentOf(r); ok && v.gaps[content.TextStream] != "" {
		problem(v.gaps[content.TextStream])
		delete(v.gaps, content.TextStream)
	}
	switch {
	case r.Revision > want && IsText(r.Stream) && len(v.gaps) < gapTexts:
		if v.gaps[r.Stream] == "" {
			v.gaps[r.Stream] = fmt.Sprintf("%s: revision %d is missing before it", place(r), r.Revision-1)
		}
	case r.Revision > want:
		problem(fmt.Sprintf("%s: revision %d is missing before it", place(r), r.Revision-1))
	case r.Revision < want:
		problem(fmt.Sprintf("%s: an earlier event of the stream has revision %d", place(r), want-1))
	}
	if len(v.next) >= nextStreams {
		clear(v.next)
	}
	v.next[r.Stream] = max(want, r.Revision+1)
	return nil
}

// contentOf is ContentOf for a record that is not decoded yet.
func contentOf(r Record) (Content, bool) {
	switch r.Type {
	case "DocumentImported", "DocumentRevised", "DocumentReread":
		return ContentOf(Decode(r).Data)
	}
	return Content{}, false
}

func place(r Record) string {
	return fmt.Sprintf("event %d of %s (%s) at position %d", r.Revision, r.Stream, r.Type, r.Position)
}

// checkPayloads returns the problem with each record, or "" if the record has none. It
// uses all cores.
func checkPayloads(schemas map[string]*jsonschema.Schema, records []Record) []string {
	problems := make([]string, len(records))
	var workers sync.WaitGroup
	const share = 50
	for from := 0; from < len(records); from += share {
		workers.Go(func() {
			for i := from; i < min(from+share, len(records)); i++ {
				if err := checkPayload(schemas, records[i]); err != nil {
					problems[i] = strings.Join(strings.Fields(err.Error()), " ") // schema errors have several lines
				}
			}
		})
	}
	workers.Wait()
	return problems
}

func checkPayload(schemas map[string]*jsonschema.Schema, r Record) error {
	e := Decode(r)
	if e.Err != nil {
		return e.Err
	}
	payload, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Data))
	if err != nil {
		return err
	}
	return schemas[Kind{r.Type, e.Metadata.Schema}.String()].Validate(payload)
}

// payloadSchemas returns the schema of every kind that can be read.
var payloadSchemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	compiled := make(map[string]*jsonschema.Schema)
	for _, k := range Kinds() {
		b, err := schema.Events.ReadFile("events/" + k.String() + ".json")
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		name := "urn:annals:event:" + k.String()
		if err == nil {
			err = c.AddResource(name, doc)
		}
		if err == nil {
			compiled[k.String()], err = c.Compile(name)
		}
		if err != nil {
			return nil, fmt.Errorf("compile the schema of %s: %w", k, err)
		}
	}
	return compiled, nil
})
