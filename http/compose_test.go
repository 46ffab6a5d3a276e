package http_test

import (
	"bufio"
	"context"
	"log/slog"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/endpoint/llm"
	"annals/endpoint/llm/llmtest"
	"annals/events"
	httpd "annals/http"
	"annals/http/ratelimit"
	"annals/queries"
	"annals/queries/answerlog"
	"annals/queries/compose"
	"annals/queries/describe"

	"github.com/google/uuid"
)

// startComposing starts a server whose answers are written by the language model of a scripted
// endpoint, with a document that answers "How long is the notice period?".
func startComposing(t *testing.T, script func(llmtest.Request) llmtest.Reply, change ...func(*httpd.Server)) (*service, *llmtest.Endpoint) {
	t.Helper()
	e := llmtest.Start(t, script)
	model, err := llm.New(llm.Options{URL: e.URL, Model: "small", InputPrice: 1, OutputPrice: 2})
	if err != nil {
		t.Fatal(err)
	}
	records, err := answerlog.Open(t.Context(), filepath.Join(t.TempDir(), answerlog.File), answerlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { records.Close() })
	s := startStack(t, append(change, func(h *httpd.Server) {
		q := h.Queries.(*queries.Queries)
		q.Composer = &compose.Composer{Model: model, Budget: records, Logger: slog.New(slog.DiscardHandler)}
		q.Answers = records
	})...)
	s.file("Contracts", "supply.md", "# Supply agreement\n\n## Termination\n\nEither party may end this agreement with three months' notice. The notice must be in writing.\n")
	return s, e
}

type composedReply struct {
	Answer     string
	Reasoning  string
	Confidence float64
	Sources    []struct {
		DocID string `json:"doc_id"`
	}
	AnsweredBy string `json:"answered_by"`
	Model      string
	Fallback   string
	Sentences  []struct {
		Text    string
		Sources []int
	}
	Dropped  int    `json:"dropped_sentences"`
	AnswerID string `json:"answer_id"`
}

const (
	noticeQuestion = `{"query":"How long is the notice period?"}`
	noticeAnswer   = "The notice period is three months."
)

func saysNotice(llmtest.Request) llmtest.Reply {
	return llmtest.Reply{Pieces: []string{noticeAnswer, " [1]\nIt is ", "longer in Berlin. [1]"}, Usage: [2]int{400, 20}}
}

func TestAskComposes(t *testing.T) {
	s, e := startComposing(t, saysNotice)
	resp, body := s.do("POST", "/core/ask", noticeQuestion)
	a := decode[composedReply](t, body)
	if resp.StatusCode != 200 || a.Answer != noticeAnswer || a.AnsweredBy != "model" || a.Model != "small" || a.Dropped != 1 || len(a.Sources) != 1 || len(a.Sentences) != 1 ||
		!slices.Equal(a.Sentences[0].Sources, []int{0}) || a.Confidence < 0.3 || !strings.Contains(a.Reasoning, "Termination") || !strings.Contains(a.Reasoning, "One further sentence was left out") {
		t.Fatalf("POST /core/ask = %d %s", resp.StatusCode, body)
	}
	resp, body = s.do("GET", "/core/answers/"+a.AnswerID, "")
	record := decode[struct {
		User, Question, Model, Outcome, Reply, Answer string
		Input                                         int `json:"input_tokens"`
		Cost                                          float64
		Prompt                                        []llm.Message
		Passages                                      []struct{ Document, Section string }
	}](t, body)
	if resp.StatusCode != 200 || record.User != "user:alice" || record.Outcome != "composed" || record.Answer != noticeAnswer || !strings.Contains(record.Reply, "Berlin") || record.Input != 400 || record.Cost != 0.00044 ||
		len(record.Passages) != 1 || record.Passages[0].Document != a.Sources[0].DocID || len(record.Prompt) != 2 || record.Prompt[1].Content != e.Requests()[0].Messages[1].Content {
		t.Errorf("the record = %d %s", resp.StatusCode, body)
	}
	for _, id := range []string{a.AnswerID, "x", strings.Replace(a.AnswerID, a.AnswerID[:8], "00000000", 1)} {
		s.token = "bob"
		if resp, body := s.do("GET", "/core/answers/"+id, ""); resp.StatusCode != 404 {
			t.Errorf("bob reads the record %s: %d %s, want 404", id, resp.StatusCode, body)
		}
		s.token = "alice"
	}
	if resp, body := s.do("GET", "/core/answers", ""); resp.StatusCode != 200 || !strings.Contains(body, `{"answers":[{"answer_id":"`+a.AnswerID+`"`) || strings.Contains(body, "three months") {
		t.Errorf("the records = %d %s, want the answer", resp.StatusCode, body)
	}
	if resp, body := s.do("GET", "/core/answers?cursor=x", ""); resp.StatusCode != 422 || !strings.Contains(body, "uuid_parsing") {
		t.Errorf("the records with a wrong cursor = %d %s", resp.StatusCode, body)
	}
	s.token = "bob"
	if resp, body := s.do("GET", "/core/answers?cursor="+a.AnswerID, ""); resp.StatusCode != 200 || !strings.Contains(body, `{"answers":[],"next_cursor":null}`) {
		t.Errorf("the records of bob = %d %s, want none", resp.StatusCode, body)
	}
	s.token = "admin"
	if resp, body := s.do("GET", "/core/answers/"+a.AnswerID, ""); resp.StatusCode != 200 || !strings.Contains(body, "three months") {
		t.Errorf("an administrator reads the record: %d %s", resp.StatusCode, body)
	}
	s.token = "alice"
	if resp, body := s.do("DELETE", "/vault/documents/"+a.Sources[0].DocID+"?version=1", ""); resp.StatusCode != 204 {
		t.Fatalf("delete the document: %d %s", resp.StatusCode, body)
	}
	if resp, body := s.do("GET", "/core/answers/"+a.AnswerID, ""); resp.StatusCode != 200 || strings.Contains(body, "months") || !strings.Contains(body, `"withheld":true`) {
		t.Errorf("the record after its document was deleted: %d %s, want it without texts", resp.StatusCode, body)
	}
}

// The model is told only what the caller may read.
func TestAskComposesFromReadablePassages(t *testing.T) {
	s, e := startComposing(t, saysNotice)
	s.token = "bob"
	s.file("Bob", "bob.md", "# Lease\n\nThe notice period of the lease is six weeks.\n")
	resp, body := s.do("POST", "/core/ask", noticeQuestion)
	a := decode[composedReply](t, body)
	if resp.StatusCode != 200 || strings.Contains(body, "three months") || a.AnsweredBy != "passages" || a.Fallback != "unsupported" || !strings.Contains(a.Answer, "six weeks") {
		t.Errorf("POST /core/ask = %d %s, want a quotation", resp.StatusCode, body)
	}
	if q := e.Requests()[0]; len(q.Passages) != 1 || strings.Contains(q.Messages[1].Content, "three months") {
		t.Errorf("the model was told %+v", q.Passages)
	}
}

// A right that is withdrawn while the model writes counts.
func TestAskRechecksRightsAfterModel(t *testing.T) {
	var s *service
	document := ""
	script := func(llmtest.Request) llmtest.Reply {
		if resp, body := s.do("DELETE", "/vault/documents/"+document+"?version=1", "", "Authorization", "Bearer alice"); resp.StatusCode != 204 {
			t.Errorf("delete the document: %d %s", resp.StatusCode, body)
		}
		return saysNotice(llmtest.Request{})
	}
	s, _ = startComposing(t, script)
	_, body := s.do("POST", "/core/search", `{"query":"notice"}`)
	document = decode[composedReply](t, body).Sources[0].DocID
	resp, body := s.do("POST", "/core/ask", noticeQuestion)
	if a := decode[composedReply](t, body); resp.StatusCode != 200 || strings.Contains(body, "months") || a.Fallback != "withdrawn" || len(a.Sources) > 0 {
		t.Errorf("POST /core/ask = %d %s, want nothing of the document", resp.StatusCode, body)
	}
}

func TestAskFallsBack(t *testing.T) {
	s, _ := startComposing(t, func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Status: 500} })
	resp, body := s.do("POST", "/core/ask", noticeQuestion)
	if a := decode[composedReply](t, body); resp.StatusCode != 200 || a.AnsweredBy != "passages" || a.Fallback != "unreachable" || !strings.Contains(a.Answer, "three months") || a.AnswerID == "" {
		t.Errorf("POST /core/ask = %d %s, want a quotation", resp.StatusCode, body)
	}
}

// A model that read the passages and found no answer is a reason to doubt the quotation.
func TestAskDoubtsWhatTheModelDoesNotFind(t *testing.T) {
	reply := llmtest.Reply{Status: 500}
	s, _ := startComposing(t, func(llmtest.Request) llmtest.Reply { return reply })
	_, body := s.do("POST", "/core/ask", noticeQuestion)
	quoted := decode[composedReply](t, body)
	reply = llmtest.Reply{Pieces: []string{"NO ANSWER"}}
	_, body = s.do("POST", "/core/ask", noticeQuestion)
	a := decode[composedReply](t, body)
	if a.Fallback != "no_answer" || math.Abs(a.Confidence-quoted.Confidence/2) > 0.001 || !strings.Contains(a.Reasoning, "found no answer in them") {
		t.Errorf("the model finds no answer: %s, want half of the confidence %v", body, quoted.Confidence)
	}
	if abstains := len(a.Sources) == 0; quoted.Confidence < 0.3 || abstains != (a.Confidence < 0.3) || abstains == strings.Contains(a.Answer, "three months") {
		t.Errorf("the model finds no answer: %s, want a quotation only from a confidence of 0.3 on", body)
	}
}

func TestAskUnderstandsHistory(t *testing.T) {
	s, e := startComposing(t, saysNotice)
	resp, body := s.do("POST", "/core/ask", `{"query":"And is it in writing?","history":[{"question":"How long is the notice period?","answer":"Three months."}]}`)
	if q := e.Requests(); resp.StatusCode != 200 || len(q) != 1 || q[0].Question != "And is it in writing?" || len(q[0].Earlier) != 1 || q[0].Earlier[0].Answer != "Three months." || len(q[0].Passages) != 1 {
		t.Errorf("POST /core/ask = %d %s, and the model was asked %+v", resp.StatusCode, body, q)
	}
	turn := `{"question":"a","answer":"b"}`
	for history, want := range map[string]string{
		`[` + strings.Repeat(turn+",", 10) + turn + `]`:                   "too_long",
		`[{"question":"a"}]`:                                              "missing",
		`[{"question":"a","answer":5}]`:                                   "string_type",
		`[{"question":"a","answer":"` + strings.Repeat("b", 4001) + `"}]`: "string_too_long",
		`[{"question":"a","answer":"b","x":1}]`:                           "extra_forbidden",
		`["a"]`:                                                           "model_attributes_type",
		`"a"`:                                                             "list_type",
	} {
		if resp, body := s.do("POST", "/core/ask", `{"query":"a","history":`+history+`}`); resp.StatusCode != 422 || !strings.Contains(body, `"`+want+`"`) {
			t.Errorf("history %.60s = %d %s, want %s", history, resp.StatusCode, body, want)
		}
	}
}

// answerEvents sends a question with stream=true and returns the lines of the reply.
func (s *service) answerEvents(ctx context.Context, question string) (*http.Response, *bufio.Scanner) {
	s.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/core/ask?stream=true", strings.NewReader(question))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { resp.Body.Close() })
	return resp, bufio.NewScanner(resp.Body)
}

func next(lines *bufio.Scanner) string {
	for lines.Scan() {
		if lines.Text() != "" {
			return lines.Text()
		}
	}
	return ""
}

func TestAskStreams(t *testing.T) {
	s, _ := startComposing(t, func(q llmtest.Request) llmtest.Reply {
		if q.Question != "How long is the notice period?" {
			return llmtest.Reply{Status: 500}
		}
		return saysNotice(q)
	}, func(h *httpd.Server) { h.KeepAlive = time.Millisecond })
	resp, lines := s.answerEvents(t.Context(), noticeQuestion)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	var sent []string
	for line := next(lines); line != ""; line = next(lines) {
		if line != ": keep-alive" {
			sent = append(sent, line)
		}
	}
	if len(sent) != 2 || sent[0] != `data: {"event_type":"sentence","text":"`+noticeAnswer+`"}` || !strings.HasPrefix(sent[1], `data: {"event_type":"complete","answer":"`+noticeAnswer+`"`) || !strings.Contains(sent[1], `"dropped_sentences":1`) {
		t.Errorf("events %q", sent)
	}
	_, lines = s.answerEvents(t.Context(), `{"query":"What is the notice of the agreement?"}`)
	line := next(lines)
	for line == ": keep-alive" {
		line = next(lines)
	}
	if !strings.HasPrefix(line, `data: {"event_type":"complete"`) || !strings.Contains(line, `"fallback":"unreachable"`) {
		t.Errorf("event %s, want a quotation", line)
	}
}

// Until something is sent, errors are replies of their own, and count like those of other requests.
func TestAskStreamFails(t *testing.T) {
	s, _ := startComposing(t, saysNotice, func(h *httpd.Server) { h.Brake = new(ratelimit.Brake) })
	if resp, _ := s.answerEvents(t.Context(), `{"query":5}`); resp.StatusCode != 422 {
		t.Errorf("a wrong question = %s, want 422", resp.Status)
	}
	began, refused := time.Now(), 0
	for ; refused < 22; refused++ {
		if resp, _ := s.answerEvents(t.Context(), `{"query":"a","generation":1}`); resp.StatusCode != 403 {
			t.Errorf("a generation = %s, want 403", resp.Status)
		}
		if refused < 20 && time.Since(began) > 20*time.Second {
			t.Skip("this machine is too slow to measure the delay")
		}
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("%d refusals took %s, want at least 1 s", refused, took)
	}
}

// If the client goes, the call of the model ends.
func TestAskStreamEndsWithClient(t *testing.T) {
	s, e := startComposing(t, func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Pieces: []string{noticeAnswer + " [1]\n", "b"}, Pause: time.Hour}
	})
	ctx, leave := context.WithCancel(t.Context())
	_, lines := s.answerEvents(ctx, noticeQuestion)
	if line := next(lines); !strings.Contains(line, noticeAnswer) {
		t.Fatalf("the first event is %s", line)
	}
	leave()
	<-e.Gone()
}

// The first summary of a folder shows what the import wrote, and a later one what the model wrote behind it.
func TestSummaryIsDescribedByModel(t *testing.T) {
	const described = "An agreement with three months' notice in writing."
	e := llmtest.Start(t, func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Pieces: []string{described}} })
	model, err := llm.New(llm.Options{URL: e.URL, Model: "small"})
	if err != nil {
		t.Fatal(err)
	}
	store, err := describe.Open(t.Context(), filepath.Join(t.TempDir(), describe.File))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() {
		stop()
		<-ended
		store.Close()
	})
	s := startStack(t, func(h *httpd.Server) {
		q := h.Queries.(*queries.Queries)
		q.Describer = &describe.Describer{Model: model, Store: store, Logger: slog.New(slog.DiscardHandler), Text: func(ctx context.Context, user events.User, id uuid.UUID, limit int) (string, error) {
			p, err := q.MarkdownPage(ctx, user, id, 0, limit)
			return p.Text, err
		}}
		go func() {
			defer close(ended)
			q.Describer.Run(ctx)
		}()
	})
	s.file("Contracts", "supply.md", "# Supply agreement\n\nEither party may end this agreement with three months' notice. The notice must be in writing.\n")
	const path = "/core/folders/summary?folder_name=Contracts"
	resp, body := s.do("GET", path, "")
	if resp.StatusCode != 200 || !strings.Contains(body, "Either party") {
		t.Errorf("the first summary = %d %s", resp.StatusCode, body)
	}
	for tick := time.NewTicker(20 * time.Millisecond); !strings.Contains(body, described); <-tick.C {
		_, body = s.do("GET", path, "")
	}
	s.token = "bob"
	if _, body := s.do("GET", path, ""); !strings.Contains(body, `"none"`) || len(e.Requests()) != 1 {
		t.Errorf("the summary for bob is %s, after %d calls of the model", body, len(e.Requests()))
	}
}
