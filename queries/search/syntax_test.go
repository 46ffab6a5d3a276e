package search_test

import (
	"fmt"
	"slices"
	"testing"

	"annals/queries/search"

	"github.com/google/uuid"
)

func TestSearchOperators(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	a := f.AddDocument(top, "a.md", nil, "The notice period of the contract is ninety days.")
	b := f.AddDocument(top, "b.md", nil, "A period without notice: the contract ends at once.", "A draft.")
	c := f.AddDocument(top, "c.md", nil, "Notice periods of a draft contract are shorter.")
	f.Settle()
	for _, test := range []struct {
		query string
		want  []uuid.UUID
	}{
		{"notice period contract", []uuid.UUID{a, b, c}},
		{`"notice period" contract`, []uuid.UUID{a, c}},
		{`"notice period" contract -draft`, []uuid.UUID{a}},
		{`contract -"notice period"`, []uuid.UUID{b}},
		{`"Title of c.md" contract`, []uuid.UUID{c}},
		{"contract -ninety -shorter", []uuid.UUID{b}},
		{"-ninety", nil},
		{"short* ninet* elephants*", []uuid.UUID{a, c}},
		{"notic* -draf* -draft", []uuid.UUID{a, b}},
		{`"period of notice"`, nil},
		{"a.md -ninety", []uuid.UUID{b, c}}, // the document with that name has no other passage
	} {
		f.finds(alice, search.Query{Query: test.query}, test.want...)
	}
	f.finds(alice, search.Query{Query: `contract -"notice period"`, Literal: true}, a, b, c)
	f.finds(alice, search.Query{Query: `Which contract has a "period of notice"?`}, a, b, c)
	// A long text quotes titles; passages about its subject that do not have the title are wanted.
	f.finds(alice, search.Query{Query: `I am looking for everything that has been written about how a contract ends, such as the essay "Periods of Notice", which a colleague ` +
		`mentioned - and about what happens at once, after days, or in a draft of it.`}, a, b, c)
}

// Even if most of the best passages do not match, all passages that do are found.
func TestSearchFindsRarePhrase(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	for i := range 120 {
		f.AddDocument(top, fmt.Sprintf("%d.md", i), nil, fmt.Sprintf("Water lily, lily water, number %d.", i))
	}
	wanted := f.AddDocument(top, "wanted.md", nil, "In a long text about many other plants and animals, and about their enemies, there is one lily pond with water.")
	f.Settle()
	f.finds(alice, search.Query{Query: `water "lily pond"`}, wanted)
	f.finds(alice, search.Query{Query: `water -"water lily" lily -"lily lily"`}, wanted)
}

func TestSearchShowsDuplicatesOnce(t *testing.T) {
	f := newFixture(t)
	shared, private := f.AddFolder(uuid.Nil, "Shared", "user:alice"), f.AddFolder(uuid.Nil, "Private", "user:bob")
	f.Share(shared, "group:staff", "read")
	var copies []uuid.UUID
	for i := range 60 {
		copies = append(copies, f.AddDocument(shared, fmt.Sprintf("copy %d.md", i), nil, "The zebra eats grass."))
	}
	f.AddDocument(private, "secret.md", nil, "The zebra eats grass.")
	other := f.AddDocument(shared, "other.md", nil, "The lion eats the zebra, and no grass.")
	f.Settle()
	sources, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra grass"})
	sources = slices.DeleteFunc(sources, func(s search.Source) bool { return s.Document == other })
	if err != nil || len(sources) != 1 {
		t.Fatalf("Search = %d sources besides the other text, %v, want one copy", len(sources), err)
	}
	named := search.Shown(sources)
	if len(named) != 11 {
		t.Errorf("the source names %d documents, want itself and 10 more", len(named))
	}
	for i, id := range named {
		if !slices.Contains(copies, id) || slices.Contains(named[:i], id) {
			t.Errorf("the source names %v, want different copies that the user may read", named)
			break
		}
	}
	if d := sources[0].Duplicates[0]; d.Title == "" || d.Folder != "Shared" || d.DeepLink == "" {
		t.Errorf("a duplicate is %+v, want title, folder and link", d)
	}
	if ids := f.pagesOf(alice, search.Query{Query: "zebra grass"}, 1); len(ids) != 2 {
		t.Errorf("all pages together have %d passages, want 2", len(ids))
	}
	// Equal texts under different headings are not duplicates.
	f.AddDocument(shared, "sections.md", nil, "See above: giraffe.", "See above: giraffe.")
	f.Settle()
	if sources, err = f.search.Search(t.Context(), alice, search.Query{Query: "giraffe"}); err != nil || len(sources) != 2 {
		t.Errorf("Search = %d sources, %v, want both sections", len(sources), err)
	}
}
