package http_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"annals/schema"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/uuid"
)

// validator is an http.RoundTripper that checks every response in a test against the OpenAPI
// documents.
type validator struct {
	t    *testing.T
	docs map[string]*openapi3.T // by path prefix, such as "/core/"
}

func newValidator(t *testing.T) *validator {
	v := &validator{t, map[string]*openapi3.T{}}
	for _, name := range []string{"core", "vault"} {
		doc := loadDocument(t, name)
		doc.Servers = openapi3.Servers{{URL: "/" + name}}
		v.docs["/"+name+"/"] = doc
	}
	return v
}

func loadDocument(t *testing.T, name string) *openapi3.T {
	t.Helper()
	text, err := schema.OpenAPI.ReadFile(name + ".openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("nullable:")) {
		t.Fatalf("%s.openapi.yaml has `nullable`, which OpenAPI 3.1 does not know: write `type: [string, \"null\"]`", name)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return doc
}

func init() {
	openapi3filter.RegisterBodyDecoder("text/markdown", openapi3filter.PlainBodyDecoder)
	for _, media := range []string{"application/pdf", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.FileBodyDecoder)
	}
}

// RoundTrip returns the response with a body that is checked when the test has read it to the
// end. RoundTrip cannot read the body itself: a progress stream can be endless.
func (v *validator) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for prefix, doc := range v.docs {
		if !strings.HasPrefix(r.URL.Path, prefix) || r.URL.Path == prefix+"openapi.yaml" {
			continue
		}
		router, err := gorillamux.NewRouter(doc)
		if err != nil {
			v.t.Fatal(err)
		}
		route, params, err := router.FindRoute(r)
		if err != nil {
			if resp.StatusCode != 404 && resp.StatusCode != 405 && r.Method != http.MethodHead && r.Method != http.MethodOptions {
				v.t.Errorf("%s %s = %d, but the route is not described: %v", r.Method, r.URL.Path, resp.StatusCode, err)
			}
			continue
		}
		if id, _, linked := strings.Cut(params["id"], "."); linked && route.Path == "/documents/{id}" && uuid.Validate(id) == nil {
			// A deep link replies like GET content.
			item := doc.Paths.Value("/documents/{id}/content")
			route = &routers.Route{Spec: doc, Path: "/documents/{id}/content", PathItem: item, Method: r.Method, Operation: item.Get}
			if r.Method != http.MethodGet {
				continue
			}
		}
		if route.Operation == nil { // the path has no such method
			continue
		}
		resp.Body = &validated{v.t, resp.Body, bytes.Buffer{}, sync.Once{}, resp, route, params}
	}
	return resp, nil
}

type validated struct {
	t *testing.T
	io.ReadCloser
	read   bytes.Buffer
	once   sync.Once
	resp   *http.Response
	route  *routers.Route
	params map[string]string
}

func (b *validated) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read.Write(p[:n])
	if err == io.EOF {
		b.once.Do(b.check)
	}
	return n, err
}

func (b *validated) check() {
	r := b.resp.Request
	if strings.HasPrefix(b.resp.Header.Get("Content-Type"), "text/event-stream") {
		b.checkEvents()
		return
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: b.params, Route: b.route},
		Status:                 b.resp.StatusCode, Header: b.resp.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	in.SetBodyBytes(b.read.Bytes())
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		b.t.Errorf("%s %s = %d %.300s, which differs from the OpenAPI document: %v", r.Method, r.URL, b.resp.StatusCode, b.read.String(), err)
	}
}

// checkEvents checks every event of a stream against its schema. The OpenAPI library
// can only check whole bodies.
func (b *validated) checkEvents() {
	name := "ProgressEvent"
	if b.route.Operation.OperationID == "ask" {
		name = "AnswerEvent"
	}
	event := b.route.Spec.Components.Schemas[name].Value
	for line := range strings.Lines(b.read.String()) {
		text, isEvent := strings.CutPrefix(line, "data:")
		if !isEvent {
			if line != "\n" && !strings.HasPrefix(line, ":") {
				b.t.Errorf("the line %q of a stream is neither an event nor a comment", line)
			}
			continue
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			b.t.Errorf("the event %q: %v", text, err)
		} else if err := event.VisitJSON(value); err != nil {
			b.t.Errorf("the event %q differs from the OpenAPI document: %v", text, err)
		}
	}
}
