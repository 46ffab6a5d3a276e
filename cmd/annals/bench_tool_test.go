package main

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkSearchTool searches 100,000 passages through the MCP tool and through the
// REST interface, alternating, with the same questions and over the same connections.
// The user has grants on 500 of 10,000 folders.
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

// searchTool sends one search through the MCP tool and returns the number of passages
// in the reply.
func (s *benchServer) searchTool(ctx context.Context, token, question string) (int, error) {
	var found struct {
		Result struct {
			StructuredContent struct {
				Sources []struct {
					Text string `json:"text"`
				} `json:"sources"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	err := s.post(ctx, token, "/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": "service_search", "arguments": map[string]string{"query": question},
	}}, &found)
	return len(found.Result.StructuredContent.Sources), err
}
