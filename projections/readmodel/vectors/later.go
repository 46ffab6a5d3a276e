package vectors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"strings"

	"annals/events"
	"annals/events/sqldb"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
)

const (
	// piecePassages and pieceBytes bound one piece of Later's work, which is lost if the
	// endpoint fails. One part of a section, of at most 64 KiB, may go beyond them.
	piecePassages = 256
	pieceBytes    = 512 << 10
	// pieceDocuments is the maximum number of documents in a piece.
	pieceDocuments = 256
	// hashBytes is how many bytes of the SHA-256 of a text are stored.
	hashBytes = 16
)

// Later makes vectors for some passages of the documents that have waited longest.
func (p *Projection) Later(ctx context.Context, tables readmodel.Tables) (more bool, err error) {
	if p.embedding.Embedder == nil {
		return false, nil
	}
	waiting, err := sqldb.List(ctx, tables, func(d *document) []any {
		return []any{&d.row, &d.title, &d.version, &d.text, &d.sections, &d.revision, &d.section, &d.passages}
	}, `SELECT row, title, version, text, sections, revision, section, passages FROM documents WHERE waiting > 0 ORDER BY waiting, row LIMIT CAST($1 AS INTEGER)`, pieceDocuments)
	if err == nil && len(waiting) == 0 {
		err = p.index(ctx, tables)
	}
	if err != nil || len(waiting) == 0 {
		return false, err
	}
	model, err := p.model(ctx, tables)
	if err != nil {
		return false, err
	}
	var w piece
	for i := range waiting {
		if err := w.add(ctx, p.embedding.Log, &waiting[i]); err != nil {
			return false, err
		}
		if w.full() {
			waiting = waiting[:i+1]
			break
		}
	}
	made, err := p.vectorsOf(ctx, tables, model, w.passages)
	if err != nil {
		return false, err
	}
	return true, tables.Transaction(ctx, func(tx readmodel.Tx) error { return w.store(ctx, tx, model, waiting, made) })
}

// Model names the model that has made the vectors of a generation.
type Model struct {
	Name       string
	Dimensions int
}

// ModelOf returns the model of a generation. Its name is "" if there are no vectors yet.
func ModelOf(ctx context.Context, tables readmodel.Queryer) (m Model, err error) {
	found, err := sqldb.List(ctx, tables, func(m *Model) []any { return []any{&m.Name, &m.Dimensions} }, `SELECT model, dimensions FROM embedder`)
	if err == nil && len(found) > 0 {
		m = found[0]
	}
	return m, err
}

// model returns the model of the generation, which is that of the settings if there are no
// vectors yet. A generation never mixes the vectors of two models.
func (p *Projection) model(ctx context.Context, tables readmodel.Tables) (Model, error) {
	m, err := ModelOf(ctx, tables)
	if err == nil && m.Name == "" {
		m.Name, m.Dimensions = p.embedding.Model()
	}
	return m, err
}

// document is a document some of whose passages have no vectors.
type document struct {
	row               int64
	title             string
	version           int
	text              string
	sections          int
	revision          int64
	section, passages int
	done              bool // all passages are in the piece, or have vectors
}

// passage is a passage for which a vector is made.
type passage struct {
	document                 int64
	version, section, number int
	text                     string
	hash                     string // hashBytes bytes
}

// piece has the passages of one piece of work.
type piece struct {
	passages []passage
	bytes    int
}

func (w *piece) full() bool { return len(w.passages) >= piecePassages || w.bytes >= pieceBytes }

var errFull = errors.New("the piece is full")

// add adds passages of a document until the piece is full.
func (w *piece) add(ctx context.Context, log *events.Log, d *document) error {
	err := log.ReadStream(ctx, d.text, d.revision, func(e events.Event) error {
		if w.full() {
			return errFull
		}
		if s, ok := e.Data.(events.SectionExtracted); ok && s.Index < d.sections {
			w.cut(d, s)
		}
		d.revision = e.Revision + 1
		return nil
	})
	if errors.Is(err, events.ErrUnreadable) {
		err = nil // the read model of passages parks the event, so the rest is not found by words either
	}
	d.done = err == nil
	if errors.Is(err, errFull) {
		err = nil
	}
	return err
}

// cut adds the passages of one part of a section.
func (w *piece) cut(d *document, s events.SectionExtracted) {
	if s.Index != d.section {
		d.section, d.passages = s.Index, 0
	}
	for _, text := range passages.Cut(s.Text, s.Part) {
		text = withHeading(d.title, s.Path, text)
		sum := sha256.Sum256([]byte(text))
		w.passages = append(w.passages, passage{d.row, d.version, s.Index, d.passages, text, string(sum[:hashBytes])})
		w.bytes += len(text)
		d.passages++
	}
}

// withHeading returns a passage's text with the titles above it, which often name its
// subject. The first section of many documents repeats the document's title.
func withHeading(title string, path []string, text string) string {
	lines := []string{title, strings.Join(path, " > "), text}
	if len(path) > 0 && path[0] == title {
		lines = lines[1:]
	}
	var b strings.Builder
	for _, line := range lines {
		if line != "" && b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String()
}

// vectorsOf returns the encoded vectors of passages by their hashes. It takes those that
// this or another generation of the same model has, and makes the others.
func (p *Projection) vectorsOf(ctx context.Context, tables readmodel.Queryer, m Model, all []passage) (made map[string][]byte, err error) {
	made = make(map[string][]byte)
	var lacking []passage // with different texts
	seen := make(map[string]bool)
	for _, one := range all {
		if !seen[one.hash] {
			seen[one.hash] = true
			lacking = append(lacking, one)
		}
	}
	find := func(in readmodel.Queryer) error {
		of, err := ModelOf(ctx, in)
		if err != nil || of != m || len(lacking) == 0 {
			return err
		}
		lacking, err = known(ctx, in, m, lacking, made)
		return err
	}
	if err := find(tables); err != nil {
		return nil, err
	}
	if len(lacking) > 0 && p.embedding.Earlier != nil {
		if err := p.embedding.Earlier(ctx, find); err != nil {
			return nil, err
		}
	}
	if len(lacking) == 0 {
		return made, nil
	}
	texts := make([]string, len(lacking))
	for i, one := range lacking {
		texts[i] = one.text
	}
	vectors, err := p.embedding.Texts(ctx, m.Name, m.Dimensions, texts)
	if err != nil {
		return nil, err
	}
	for i, one := range lacking {
		if vectors[i] != nil {
			made[one.hash] = encode(vectors[i])
		}
	}
	return made, nil
}

// known adds the vectors that a generation has to made, and returns the passages without
// vectors.
func known(ctx context.Context, in readmodel.Queryer, m Model, passages []passage, made map[string][]byte) (lacking []passage, err error) {
	hashes := make([]string, len(passages))
	for i, one := range passages {
		hashes[i] = hex.EncodeToString([]byte(one.hash))
	}
	type row struct{ hash, vector []byte }
	rows, err := sqldb.List(ctx, in, func(r *row) []any { return []any{&r.hash, &r.vector} },
		`SELECT unhex(k.value), (SELECT vector FROM vectors WHERE hash = unhex(k.value) LIMIT 1) FROM json_each($1) k`, readmodel.JSONText(hashes))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if len(r.vector) == m.Dimensions {
			made[string(r.hash)] = r.vector
		}
	}
	for _, one := range passages {
		if made[one.hash] == nil {
			lacking = append(lacking, one)
		}
	}
	return lacking, nil
}

// store stores the vectors of the piece and how far its documents are.
func (w *piece) store(ctx context.Context, tx readmodel.Tx, m Model, documents []document, made map[string][]byte) error {
	if err := tx.Exec(ctx, `INSERT INTO embedder (one, model, dimensions) VALUES (1, $1, $2) ON CONFLICT DO NOTHING`, m.Name, m.Dimensions); err != nil {
		return err
	}
	var row int64
	if err := tx.QueryRow(ctx, `SELECT coalesce(max(row), 0) FROM vectors`).Scan(&row); err != nil {
		return err
	}
	for _, one := range w.passages {
		vector := made[one.hash]
		if vector == nil {
			continue // the endpoint refuses the text: the passage is found by its words alone
		}
		row++
		err := errors.Join(
			tx.Insert(ctx, "vectors", []string{"row", "document", "version", "section", "number", "hash", "vector"},
				row, one.document, one.version, one.section, one.number, []byte(one.hash), vector),
			tx.Insert(ctx, "signs", []string{"row", "document", "bits"}, row, one.document, signs(vector)),
		)
		if err != nil {
			return err
		}
	}
	for _, d := range documents {
		if err := d.store(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// store stores how far a document is. When all of its passages have vectors, it deletes the
// vectors of earlier versions.
func (d document) store(ctx context.Context, tx readmodel.Tx) error {
	err := tx.Exec(ctx, `UPDATE documents SET revision = $2, section = $3, passages = $4 WHERE row = $1`, d.row, d.revision, d.section, d.passages)
	if err != nil || !d.done {
		return err
	}
	return errors.Join(
		tx.Exec(ctx, `UPDATE documents SET waiting = 0 WHERE row = $1`, d.row),
		tx.Exec(ctx, `DELETE FROM signs WHERE row IN (SELECT row FROM vectors WHERE document = $1 AND version <> $2)`, d.row, d.version),
		tx.Exec(ctx, `DELETE FROM vectors WHERE document = $1 AND version <> $2`, d.row, d.version),
	)
}

// encode stores each number of a vector in 8 bits, as a share of the greatest one. That
// changes the length of the vector, but hardly its direction.
func encode(vector []float32) []byte {
	greatest := float32(0)
	for _, x := range vector {
		greatest = max(greatest, max(x, -x))
	}
	encoded := make([]byte, len(vector))
	for i, x := range vector {
		encoded[i] = byte(int8(math.Round(float64(x / greatest * math.MaxInt8))))
	}
	return encoded
}

// cosine returns the cosine of the angle between a vector and an encoded one of as many
// dimensions. The length of vector is 1.
func cosine(vector []float32, encoded []byte) float64 {
	var dot float32
	var square int32
	encoded = encoded[:len(vector)]
	for i, x := range vector {
		y := int8(encoded[i])
		dot += x * float32(y)
		square += int32(y) * int32(y)
	}
	if square == 0 {
		return 0
	}
	return float64(dot) / math.Sqrt(float64(square))
}

// signs returns one bit for each number of an encoded vector, which is set if the number is
// positive.
func signs(encoded []byte) []byte {
	bits := make([]byte, len(encoded)/8)
	for i, y := range encoded {
		if int8(y) > 0 {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return bits
}
