package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// BenchmarkSearchTool searches through the agents' tool and through REST, the
// same questions in turns over the same connections: 100,000 passages, as
// someone who was granted 500 of 10,000 folders.
func BenchmarkSearchTool(b *testing.B) {
	l := newBenchLibrary()
	s := serveBench(b, func(dataDir string) {
		if err := l.write(b.Context(), dataDir); err != nil {
			b.Fatal(err)
		}
	})
	s.awaitReady()
	token := s.addUser(benchReader)
	all := func(search func(context.Context, string, string) (int, error)) func(context.Context, string) error {
		return func(ctx context.Context, question string) error {
			found, err := search(ctx, token, question)
			if err == nil && found != benchHits {
				err = fmt.Errorf("%d passages were found for %q, want %d", found, question, benchHits)
			}
			return err
		}
	}
	for _, clients := range []int{1, 4} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			besideOther(b, clients, "rest", all(s.searchTool), all(s.search))
		})
	}
}

// searchTool makes one search by the tool and returns how many passages it
// found.
func (s *benchServer) searchTool(ctx context.Context, token, question string) (int, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": "service_search", "arguments": map[string]string{"query": question},
	}})
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/mcp", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	reply, err := s.core.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, err
	}
	var found struct {
		Result struct {
			StructuredContent struct {
				Sources []struct {
					Text string `json:"text"`
				} `json:"sources"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &found); err != nil || reply.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("search for %q: %d %s", question, reply.StatusCode, text)
	}
	return len(found.Result.StructuredContent.Sources), nil
}
