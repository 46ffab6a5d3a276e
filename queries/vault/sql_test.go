package vault

import (
	"strings"
	"testing"

	"annals/events"
	"annals/projections"
	"annals/projections/projectionstest"
	"annals/queries/queriestest"

	"github.com/google/uuid"
)

// DuplicateOf checks documents with the same bytes one by one if there are few, and uses
// oldestCopy if there are many. Both ways must find the same document.
func TestOldestCopyAgrees(t *testing.T) {
	w := queriestest.Open(t)
	top := w.AddFolder(uuid.Nil, "Top", "user:alice")
	open := w.AddFolder(top, "Open", "")
	w.Share(open, "user:bob", "read")
	w.AddDocument(top, "a.md", nil, "Text.")
	w.AddDocument(open, "b.md", nil, "Text.")
	w.Settle()
	q, sha256 := &Vault{Models: w.Models}, strings.Repeat("0a", 32)
	for _, user := range []events.User{{Principal: "user:root", Admin: true}, {Principal: "user:alice"}, {Principal: "user:bob"}, {Principal: "user:eve"}} {
		for _, folder := range []uuid.UUID{uuid.Nil, top, open} {
			v, err := q.viewer(t.Context(), user)
			if err != nil {
				t.Fatal(err)
			}
			few, err := v.duplicate(t.Context(), folder.String(), sha256)
			if err != nil {
				t.Errorf("duplicate for %s = %q, %v", user.Principal, few, err)
			}
			if many, err := v.oldestCopy(t.Context(), folder.String(), sha256); err != nil || many != few {
				t.Errorf("oldestCopy for %s = %q, %v, want %q", user.Principal, many, err, few)
			}
		}
	}
}

func TestQueriesUseIndexes(t *testing.T) {
	projectionstest.OfFiles(t)
	names := orderOf(DocumentFilter{})
	queriestest.NoScans(t, map[string]queriestest.Statement{
		"folder by tag": {SQL: pageQuery(inFolderTagged, names), Args: 5},
		"folders":       {SQL: pageQuery(inFolders, names), Args: 5},
		"tag":           {SQL: pageQuery(withTag, names), Args: 5},
		"tags":          {SQL: tagsOfFolders, Args: 1},
		"all tags":      {SQL: tagsInUse, Args: 1},
		"copies":        {SQL: copies, Args: 3},
		"duplicate":     {SQL: oldestCopy, Args: 3},
		"versions":      {SQL: versionColumns + `ORDER BY version`, Args: 1},
		"subfolders":    {SQL: folderColumns + `WHERE f.parent = $1 AND f.deleted = 0` + byName, Args: 1},
	})
}

// A page of a folder is read from an index in the order of the listing, so that it costs the same in a folder of any
// size: only the page itself is sorted.
func TestPagesAreReadInOrder(t *testing.T) {
	projectionstest.OfFiles(t)
	db := queriestest.Open(t).Models.Vault.DB()
	indexes := map[Sort]string{ByName: "documents_folder", ByCreatedAt: "documents_created", ByUpdatedAt: "documents_updated", BySize: "documents_size"}
	for _, sort := range Sorts {
		for _, desc := range []bool{false, true} {
			plan := planOf(t, db, pageQuery(inFolder, orderOf(DocumentFilter{Sort: sort, Desc: desc})), "", "", 1, "")
			ordered, sorts := false, 0
			for _, s := range plan {
				ordered = ordered || strings.Contains(s, "INDEX "+indexes[sort]+" (folder=? AND (")
				if strings.HasPrefix(s, "USE TEMP B-TREE") {
					sorts++
				}
			}
			if !ordered || sorts != 1 {
				t.Errorf("a page by %s, descending %v, has the plan %v, want one of %s that sorts once", sort, desc, plan, indexes[sort])
			}
		}
	}
}

// Each file that replaces looks for its name, so that many files in one folder would else cost the square of their
// number.
func TestDocumentIsFoundByNameInFolderOfAnySize(t *testing.T) {
	projectionstest.OfFiles(t)
	plan := planOf(t, queriestest.Open(t).Models.Vault.DB(), documentsNamed, "", "", "")
	if !strings.Contains(plan[0], "documents_folder (folder=? AND sort_name=?)") {
		t.Errorf("documents of a name are found by the plan %q", plan)
	}
}

func planOf(t *testing.T, db *projections.DB, query string, args ...any) []string {
	t.Helper()
	plan, err := projections.List(t.Context(), db, func(step *string) []any { return []any{new(int), new(int), new(int), step} }, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
