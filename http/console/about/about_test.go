package about

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	many := "[" + strings.Repeat(`{"id":"x","name":"many.md"},`, maxFound) + `{"id":"y","name":"many too.md"}]`
	get := func(path string, q url.Values, out any) error {
		reply := "[]"
		switch {
		case path == "/vault/folders" && q.Get("path") == "A/B":
			reply = `[{"id":"f","name":"B"}]`
		case path == "/vault/documents" && q.Get("folderId") == "f" && q.Get("name") == "one.md":
			reply = `[{"id":"1","name":"One.md"},{"id":"2","name":"someone.md"}]`
		case path == "/vault/documents" && q.Get("folderId") == "f" && q.Get("name") == "two":
			reply = `[{"id":"1","name":"two.md"},{"id":"2","name":"two.pdf"}]`
		case path == "/vault/documents" && q.Get("folderId") == "f" && q.Get("name") == "many":
			reply = many
		case q.Get("path") == "broken":
			return errors.New("broken")
		}
		return json.Unmarshal([]byte(reply), out)
	}
	for text, want := range map[string]string{
		" /A/B/ ": "[{f B folder}] false <nil>", "A/B/one.md": "[{1 One.md document}] false <nil>", "A/B/two": "[{1 two.md document} {2 two.pdf document}] false <nil>",
		"A/B/nothing": "[] false <nil>", "one.md": "[] false <nil>", " / ": "[] false <nil>", "broken": "[] false broken", "broken/x": "[] false broken",
	} {
		found, more, err := Find(get, text)
		if got := fmt.Sprint(found, more, err); got != want {
			t.Errorf("Find %q = %s, want %s", text, got, want)
		}
	}
	if found, more, _ := Find(get, "A/B/many"); len(found) != maxFound || !more {
		t.Errorf("Find = %d of many, %t", len(found), more)
	}
}
