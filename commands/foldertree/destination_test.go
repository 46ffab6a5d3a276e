package foldertree_test

import (
	"reflect"
	"slices"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
)

// An upload to Reports/2026/Q3 was accepted when Reports/2026 existed. The upload follows
// the folder Reports/2026, whatever happens to that folder before the file is filed.
func TestDestinationFollowsFolder(t *testing.T) {
	reports := []events.Data{created(1, 0, "Reports", "user:alice"), created(2, 1, "2026", ""), created(3, 0, "Archive", "user:alice"), shared(2, "user:bob=write")}
	var deep []events.Data // 30 folders in Archive
	for n := byte(10); n < 40; n++ {
		parent := n - 1
		if n == 10 {
			parent = 3
		}
		deep = append(deep, created(n, parent, "x", ""))
	}
	q3 := []events.Data{created(101, 2, "Q3", "")}
	for _, test := range []struct {
		name string
		then []events.Data // what happens between the request and the filing
		user events.User
		want []events.Data
		kind fault.Kind
		text string // complete error text; empty if there must be no error
	}{
		{"unchanged", nil, bob, q3, 0, ""},
		{"renamed", []events.Data{renamed(2, "26")}, bob, q3, 0, ""},
		{"the folder above renamed", []events.Data{renamed(1, "Old")}, bob, q3, 0, ""},
		{"moved", []events.Data{moved(2, 3, "")}, bob, q3, 0, ""},
		{"replaced by a folder of the same name", []events.Data{renamed(2, "26"), created(4, 1, "2026", "")}, bob, q3, 0, ""},
		{"the missing folder was created", []events.Data{moved(2, 3, ""), created(5, 2, "Q3", "")}, bob, nil, 0, ""},
		{"deleted", []events.Data{events.FolderDeleted{Folder: id(2)}}, bob, nil, fault.Invalid, `folder "Reports/2026/Q3" was deleted before the file was filed in it`},
		{"moved into a folder that was deleted", []events.Data{moved(2, 3, ""), events.FolderDeleted{Folder: id(3)}}, bob, nil, fault.Invalid, `folder "Reports/2026/Q3" was deleted before the file was filed in it`},
		{"moved, and access withdrawn", []events.Data{moved(2, 3, ""), shared(2)}, bob, nil, fault.Forbidden, `you may not write in folder "Reports/2026/Q3"`},
		{"moved too deep", append(deep, moved(2, 39, "")), bob, nil, fault.Invalid, `create folder "Reports/2026/Q3": a folder path may have at most 32 names`},
	} {
		to, err := foldertree.Destination{Path: "Reports/2026/Q3", Under: id(2), Rest: "Q3"}.Split()
		if err != nil {
			t.Fatal(err)
		}
		got, err := foldertree.NewEnsureFolder(test.user, to).SetIDs(id(101)).Decide(fold(slices.Concat(reports, test.then)))
		if !reflect.DeepEqual(got, test.want) || fault.KindOf(err) != test.kind || (err != nil) != (test.text != "") {
			t.Errorf("%s: Decide = %v, %v; want %v, %v", test.name, got, err, test.want, test.kind)
		}
		if err != nil && err.Error() != test.text {
			t.Errorf("%s: got %q, want %q", test.name, err, test.text)
		}
	}
}
