package http_test

import (
	"fmt"
	"testing"
)

// Half of a character is no text, wherever it stands; both halves are one.
func TestLoneSurrogatesAreRefused(t *testing.T) {
	s := start(t, nil)
	for _, test := range []struct {
		body     string
		position int
	}{
		{`{"query":"\ud800"}`, 10},
		{`{"query":"\udc00"}`, 10},
		{`{"query":"\uD83D\u0041"}`, 10},
		{`{"query":"\ude00\ud83d"}`, 10},
		{`{"query":"\ud83d\ude00\ud83dx"}`, 22},
		{`{"query":"é\\\\\ud83d\n"}`, 15},
		{`{"query":"a","folder_name":"\ud800"}`, 28},
		{`{"query":"a","tags":["b","\u0041\ud83d"]}`, 32},
		{`{"\ud800":1,"query":"a"}`, 2},
	} {
		for _, path := range []string{"/core/search", "/core/ask"} {
			resp, reply := s.do("POST", path, test.body)
			s.want(resp, reply, 422, fmt.Sprintf(`{"detail":[{"type":"json_invalid","loc":["body",%d],"msg":"JSON decode error","input":{},"ctx":{"error":"Lone surrogate in hex escape"}}]}`, test.position))
		}
	}
	for text, want := range map[string]string{`\ud83d\ude00\u0041`: "😀A", `\\ud800`: `\ud800`, `\u0041\ud83d\ude00\\`: "A😀\\", "\ufffd": "\ufffd"} {
		if resp, reply := s.do("POST", "/core/search", `{"query":"`+text+`"}`); resp.StatusCode != 200 || s.library.asked.Query != want {
			t.Errorf("%s = %d %s, asked %q, want %q", text, resp.StatusCode, reply, s.library.asked.Query, want)
		}
	}
}
