package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meilisearch/meilisearch-go"

	"annals/events/fault"
	"annals/projections/searchindex"
)

// The oldest version with all that is asked of it.
const oldestMajor, oldestMinor = 1, 14

// wordLimit is how many words of a query Meilisearch looks at.
const wordLimit = 10

// settings of an index. Those of its words are searchindex's, so the server is
// to look for whole ones, and knows no stop words of its own.
func settings() *meilisearch.Settings {
	whole := "disabled"
	return &meilisearch.Settings{
		SearchableAttributes: []string{"title", "section", "text"},
		DisplayedAttributes:  []string{"id", "position", "title", "section", "text"},
		RankingRules:         []string{"words", "typo", "id:asc"}, // Search tells the rest by the texts
		TypoTolerance: &meilisearch.TypoTolerance{
			Enabled: true, MinWordSizeForTypos: meilisearch.MinWordSizeForTypos{OneTypo: searchindex.OneTypo, TwoTypos: searchindex.TwoTypos},
			DisableOnWords: []string{}, DisableOnAttributes: []string{}, DisableOnNumbers: true,
		},
		PrefixSearch:       &whole,
		ProximityPrecision: meilisearch.ByAttribute,
		Pagination:         &meilisearch.Pagination{MaxTotalHits: 1_000_000_000}, // it bounds counts too
		// The answer to a search that was cut off holds what there was time for, and
		// does not say so: nobody is to wait for it by then.
		SearchCutoffMs: (usual.search + time.Second).Milliseconds(),
	}
}

// filterable are the attributes that searches are limited by: to values that
// they name, and in no other way.
func filterable() *[]any {
	rule := func(attributes ...string) any {
		return meilisearch.AttributeRule{
			AttributePatterns: attributes,
			Features:          meilisearch.AttributeFeatures{Filter: meilisearch.FilterFeatures{Equality: true}},
		}
	}
	return &[]any{rule("folders", "tags", "document", "gone")}
}

// prepare makes the index where it is not there, and returns an error where it
// is another than the one that was seen.
func (x *Index) prepare(ctx context.Context) error {
	if x.ready {
		return x.same(ctx)
	}
	if err := x.checkVersion(ctx); err != nil {
		return err
	}
	// What has a position was made to its end.
	if _, err := x.Position(ctx); err != nil {
		return err
	}
	if !x.placed.Load() {
		if err := x.make(ctx); err != nil {
			return err
		}
	} else {
		x.emptied += sweepAfter // there may be some
	}
	info, err := x.info(ctx)
	if err != nil {
		return err
	}
	x.created, x.ready = info.CreatedAt, true
	x.seen.Store(true)
	return nil
}

// make makes the index with its settings. It may be there, without some.
func (x *Index) make(ctx context.Context) error {
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
			return x.told("make", err)
		}
	}
	return nil
}

// info returns what the server tells of the index.
func (x *Index) info(ctx context.Context) (info *meilisearch.IndexResult, err error) {
	err = x.ask(ctx, func(ctx context.Context) error {
		info, err = x.index.FetchInfoWithContext(ctx)
		return err
	})
	switch {
	case isCode(err, "index_not_found") && x.seen.Load():
		return nil, x.lost(err)
	case err == nil && info.UID != x.uid:
		err = errNotMeilisearch
	}
	return info, x.told("look at", err)
}

// same returns searchindex.ErrDamaged where the index is not the one that it
// was: the server would make another, without settings, for what it is sent.
func (x *Index) same(ctx context.Context) error {
	info, err := x.info(ctx)
	if err == nil && !info.CreatedAt.Equal(x.created) {
		err = x.lost(errSwapped)
	}
	return err
}

var errSwapped = errors.New("another index has its name")

func (x *Index) checkVersion(ctx context.Context) error {
	var v version
	err := x.ask(ctx, func(ctx context.Context) (err error) {
		v, err = x.server.version(ctx)
		return err
	})
	if err != nil {
		return x.told("look for the server of", err)
	}
	if v.major < oldestMajor || v.major == oldestMajor && v.minor < oldestMinor {
		return fault.Errorf(fault.Unavailable, "the search engine is Meilisearch %s, and has to be %d.%d or later", v.text, oldestMajor, oldestMinor)
	}
	return nil
}

type version struct {
	text         string
	major, minor int
}

// version asks the server which one it is, which it tells whatever it holds.
func (s *Server) version(ctx context.Context) (v version, err error) {
	told, err := s.client.VersionWithContext(ctx)
	if err != nil {
		return v, err
	}
	v.text = told.PkgVersion
	if n, _ := fmt.Sscanf(v.text, "%d.%d", &v.major, &v.minor); n < 2 {
		return v, errNotMeilisearch
	}
	return v, nil
}
