package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events/fault"
	"annals/projections/searchindex"

	"github.com/meilisearch/meilisearch-go"
)

// The oldest supported version of Meilisearch.
const oldestMajor, oldestMinor = 1, 14

// wordLimit is how many words of a query Meilisearch reads. It ignores further words.
const wordLimit = 10

// settings returns the settings of an index. Its words are already
// searchindex.Terms, so the server matches whole words and has no stop words.
func settings() *meilisearch.Settings {
	whole := "disabled"
	return &meilisearch.Settings{
		SearchableAttributes: []string{"title", "section", "text"},
		DisplayedAttributes:  []string{"id", "position", "title", "section", "text"},
		RankingRules:         []string{"words", "typo", "id:asc"}, // Search then ranks the candidates by their texts
		TypoTolerance: &meilisearch.TypoTolerance{
			Enabled: true, MinWordSizeForTypos: meilisearch.MinWordSizeForTypos{OneTypo: searchindex.OneTypo, TwoTypos: searchindex.TwoTypos},
			DisableOnWords: []string{}, DisableOnAttributes: []string{}, DisableOnNumbers: true,
		},
		PrefixSearch:       &whole,
		ProximityPrecision: meilisearch.ByAttribute,
		Pagination:         &meilisearch.Pagination{MaxTotalHits: 1_000_000_000}, // the limit applies to counts, too
		// A search that takes longer returns what it has found so far, without reporting
		// that. So the limit is longer than Search waits.
		SearchCutoffMs: (usual.search + time.Second).Milliseconds(),
	}
}

// filterable returns the attributes that searches filter by, for equality only, or whose
// values they count.
func filterable() *[]any {
	rule := func(attributes ...string) any {
		return meilisearch.AttributeRule{
			AttributePatterns: attributes,
			Features:          meilisearch.AttributeFeatures{Filter: meilisearch.FilterFeatures{Equality: true}},
		}
	}
	return &[]any{rule("folders", "tags", "document", "gone", "language")}
}

// prepare creates the index if it does not exist. It fails if the index is not the one
// that this process has seen before.
func (x *index) prepare(ctx context.Context) error {
	if x.ready {
		return x.same(ctx)
	}
	if err := x.checkVersion(ctx); err != nil {
		return err
	}
	// If the index has a position, an earlier create has finished.
	if _, err := x.Position(ctx); err != nil {
		return err
	}
	if !x.placed.Load() {
		if err := x.create(ctx); err != nil {
			return err
		}
	} else {
		x.emptied += sweepAfter // an earlier process may have left emptied passages
	}
	info, err := x.info(ctx)
	if err != nil {
		return err
	}
	x.created, x.ready = info.CreatedAt, true
	x.seen.Store(true)
	return nil
}

// create creates the index with its settings. If the index exists but lacks settings,
// create adds them.
func (x *index) create(ctx context.Context) error {
	steps := []func(context.Context) (*meilisearch.TaskInfo, error){
		func(ctx context.Context) (*meilisearch.TaskInfo, error) {
			return x.server.client.CreateIndexWithContext(ctx, &meilisearch.IndexConfig{Uid: x.uid, PrimaryKey: "id"})
		},
		func(ctx context.Context) (*meilisearch.TaskInfo, error) {
			return x.index.UpdateSettingsWithContext(ctx, settings())
		},
		func(ctx context.Context) (*meilisearch.TaskInfo, error) {
			return x.index.UpdateFilterableAttributesWithContext(ctx, filterable())
		},
	}
	for _, step := range steps {
		if err := x.change(ctx, step); err != nil && !isCode(err, "index_already_exists") {
			return x.wrap("create", err)
		}
	}
	return nil
}

// info returns the metadata of the index.
func (x *index) info(ctx context.Context) (info *meilisearch.IndexResult, err error) {
	err = x.read(ctx, func(ctx context.Context) error {
		info, err = x.index.FetchInfoWithContext(ctx)
		return err
	})
	switch {
	case isCode(err, "index_not_found") && x.seen.Load():
		return nil, x.lost(err)
	case err == nil && info.UID != x.uid:
		err = errUnexpectedReply
	}
	return info, x.wrap("read the creation time of", err)
}

// same returns searchindex.ErrDamaged if the index is not the one that this process
// prepared. If an index is missing, a write makes the server create one without settings.
func (x *index) same(ctx context.Context) error {
	info, err := x.info(ctx)
	if err == nil && !info.CreatedAt.Equal(x.created) {
		err = x.lost(errReplaced)
	}
	return err
}

var errReplaced = errors.New("it was replaced by another index")

func (x *index) checkVersion(ctx context.Context) error {
	var v version
	err := x.read(ctx, func(ctx context.Context) (err error) {
		v, err = x.server.version(ctx)
		return err
	})
	if err != nil {
		return x.wrap("read the server version for", err)
	}
	if v.major < oldestMajor || v.major == oldestMajor && v.minor < oldestMinor {
		return fault.Errorf(fault.Unavailable, "the search engine is Meilisearch %s, but must be %d.%d or later: upgrade it", v.text, oldestMajor, oldestMinor)
	}
	return nil
}

type version struct {
	text         string
	major, minor int
}

// version requests the version of the server. It needs no index.
func (s *server) version(ctx context.Context) (v version, err error) {
	reply, err := s.client.VersionWithContext(ctx)
	if err != nil {
		return v, err
	}
	v.text = reply.PkgVersion
	if n, _ := fmt.Sscanf(v.text, "%d.%d", &v.major, &v.minor); n < 2 {
		return v, errUnexpectedReply
	}
	return v, nil
}
