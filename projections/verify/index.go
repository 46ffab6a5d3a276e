package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
)

// freshEngine returns the index for the fresh fold. If the active index cannot be
// compared, why is the reason, and the returned index only discards the passages, because
// indexing would take most of the time.
func (v *Verifier) freshEngine(ctx context.Context) (engine searchindex.Engine, why, err error) {
	var p passages.Projection
	version, number, err := v.ControlOf(p.Name()).Active(ctx, p.Name())
	if err != nil {
		return nil, nil, err
	}
	if number == 0 || version != p.Version() {
		return new(discarding), fault.Errorf(fault.Unavailable, "the tables of passages cannot be compared"), nil
	}
	served, why := v.Search.OpenReadOnly(ctx, generation.NameOf(&p, number))
	if why != nil {
		return new(discarding), why, ctx.Err()
	}
	if err := served.Close(); err != nil {
		return nil, nil, err
	}
	engine, err = v.Search.OpenScratch(ctx, v.Scratch)
	return engine, nil, err
}

// discarding is an index that stores only its position, and no passages.
type discarding struct{ position events.Position }

func (u *discarding) Apply(_ context.Context, b searchindex.Batch) error {
	u.position = b.Position
	return nil
}
func (u *discarding) Position(context.Context) (events.Position, error) { return u.position, nil }
func (u *discarding) Count(context.Context) (uint64, error)             { return 0, nil }
func (u *discarding) Each(context.Context, func(string) error) error    { return nil }
func (u *discarding) Search(context.Context, searchindex.Query) ([]searchindex.Hit, error) {
	return nil, nil
}
func (u *discarding) Close() error { return nil }

// index compares the active index with the fresh one: which passages they contain, and
// what searches for words of sampled passages find.
func (v *Verifier) index(ctx context.Context, m *model, why error) error {
	return v.check("search index", func(c *Check) (err error) {
		if m.unfoldable || m.active == nil {
			c.skip("the tables of passages cannot be compared")
			return nil
		}
		var served searchindex.Engine
		if why == nil {
			served, why = v.Search.OpenReadOnly(ctx, m.generation)
		}
		switch {
		case fault.Is(why, fault.Unavailable):
			c.skip("%s", why)
			return nil
		case why != nil:
			_, number, err := v.ControlOf(m.Name()).Active(ctx, m.Name())
			if generation.NameOf(m.Projection, number) != m.generation && err == nil {
				c.skip("another generation has become active")
			} else if err == nil {
				c.problem("it cannot be opened: " + why.Error())
			}
			return err
		}
		defer served.Close()
		return c.tolerate(ctx, m.compareIndex(ctx, served, v.progress("search index"), c))
	})
}

func (m *model) compareIndex(ctx context.Context, served searchindex.Engine, progress func(done, total int64), c *Check) error {
	at, err := m.active.hold(ctx)
	if err != nil {
		return err
	}
	defer m.active.release()
	if at != m.fresh.Position() {
		c.skip("the read model moved from position %d to %d after its tables were compared", m.fresh.Position(), at)
		return nil
	}
	var waiting int
	var held events.Position
	err = m.active.held.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM unindexed) + (SELECT count(*) FROM forgotten) + (SELECT count(*) FROM deferred), position FROM indexed`).Scan(&waiting, &held)
	if err != nil {
		return unreadable(err)
	}
	position, err := served.Position(ctx)
	switch {
	case err != nil:
		return unreadable(err)
	case position < held:
		c.problem(fmt.Sprintf("it is at position %d, but was at %d before", position, held))
		return nil
	case waiting > 0:
		c.skip("%d documents and passages of its tables are not indexed yet; serve indexes them", waiting)
		return nil
	}
	var found Check
	passages, err := m.comparePassages(ctx, served, progress, found.problem)
	searches := 0
	if err == nil {
		searches, err = m.compareSearches(ctx, served, passages, found.problem)
	}
	// An index on a server may change during the comparison. If it has changed, the
	// differences do not count.
	if now, lost := served.Position(ctx); err == nil && lost == nil && now != position {
		c.skip("it moved from position %d to %d while it was compared", position, now)
		return nil
	}
	c.Problems += found.Problems
	c.First = append(c.First, found.First...)
	if err == nil {
		c.Counts = fmt.Sprintf("%d passages, %d searches", passages, searches)
	}
	return err
}

// comparePassages compares the ids in the active index with the ids in the fresh tables,
// and returns the number of ids in the fresh tables.
func (m *model) comparePassages(ctx context.Context, served searchindex.Engine, progress func(done, total int64), problem func(string)) (counted int, err error) {
	const columns = `(document, version, section, number)`
	if err := m.fresh.Store().Reads().QueryRowContext(ctx, `SELECT count(*) FROM passages`).Scan(&counted); err != nil {
		return 0, err
	}
	err = m.fresh.Store().Transaction(ctx, func(tx readmodel.Tx) error {
		err := tx.Exec(ctx, `CREATE TABLE found (document TEXT, version INTEGER, section INTEGER, number INTEGER, PRIMARY KEY `+columns+`) WITHOUT ROWID`)
		if err != nil {
			return err
		}
		seen := 0
		var failed error
		err = served.Each(ctx, func(id string) error {
			if seen++; seen%1000 == 0 {
				progress(int64(seen), int64(counted))
			}
			document, version, section, number, known := passages.ParseID(id)
			var n int64
			if known {
				n, failed = tx.Changed(ctx, `INSERT INTO found `+columns+` SELECT document, version, section, number FROM passages WHERE `+columns+` = ($1, $2, $3, $4)`,
					document, version, section, number)
			}
			if failed == nil && n == 0 {
				problem("passage " + id + " should not exist")
			}
			return failed
		})
		if failed != nil {
			return failed
		}
		return unreadable(err)
	})
	if err != nil {
		return counted, err
	}
	rows, err := m.fresh.Store().Reads().QueryContext(ctx, `SELECT `+passages.IDSQL+` FROM passages p WHERE NOT EXISTS
		(SELECT 1 FROM found f WHERE f.document = p.document AND f.version = p.version AND f.section = p.section AND f.number = p.number)`)
	if err != nil {
		return counted, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return counted, err
		}
		problem("passage " + id + " is missing")
	}
	return counted, rows.Err()
}

const (
	sampled      = 20 // number of passages to search for by their words
	sampledWords = 12 // words of each sampled passage
	scoreError   = 1e-6
)

// compareSearches searches both indexes for words of sampled passages: one time
// everywhere, and one time in the folder and with the tags of the passage's document.
func (m *model) compareSearches(ctx context.Context, served searchindex.Engine, passages int, problem func(string)) (searches int, err error) {
	for i := range min(sampled, passages) {
		var folder, tags string
		var text []byte
		err := m.fresh.Store().Reads().QueryRowContext(ctx, `SELECT d.folder, d.tags, substr(s.text, p.start + 1, p.length)
			FROM (SELECT * FROM passages ORDER BY document, version, section, number LIMIT 1 OFFSET $1) p
			JOIN documents d ON d.id = p.document JOIN sections s ON s.id = p.row`, passages/min(sampled, passages)*i).Scan(&folder, &tags, &text)
		if err != nil {
			return searches, fmt.Errorf("read a sample passage: %w", err)
		}
		words := strings.Fields(string(text))
		query := searchindex.Query{Text: strings.Join(words[:min(sampledWords, len(words))], " "), All: true}
		within := searchindex.Query{Text: query.Text, Granted: []string{folder}, Limit: searchindex.MaxLimit}
		if err := json.Unmarshal([]byte(tags), &within.Tags); err != nil {
			return searches, err
		}
		for _, q := range []searchindex.Query{query, within} {
			was, err := served.Search(ctx, q)
			if err != nil {
				return searches, unreadable(err)
			}
			want, err := m.fresh.Index().Search(ctx, q)
			if err != nil {
				return searches, err
			}
			searches++
			if what := differentHits(was, want); what != "" {
				problem(fmt.Sprintf("a search for %s has other results: %s", showValue(q.Text), what))
			}
		}
	}
	return searches, nil
}

// differentHits describes the first difference of two search results.
func differentHits(was, want []searchindex.Hit) string {
	for i := range min(len(was), len(want)) {
		if was[i].ID != want[i].ID || math.Abs(was[i].Score-want[i].Score) >= scoreError {
			return fmt.Sprintf("hit %d is %s (%.7f), according to the log %s (%.7f)", i+1, was[i].ID, was[i].Score, want[i].ID, want[i].Score)
		}
	}
	if len(was) != len(want) {
		return fmt.Sprintf("there are %d hits, according to the log %d", len(was), len(want))
	}
	return ""
}
