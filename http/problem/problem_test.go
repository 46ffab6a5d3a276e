package problem

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"annals/commands"
	"annals/events/fault"
)

// Errors of the core look like those of FastAPI, and errors of the vault like those of NestJS.
// The details of an internal error are never sent.
func TestFail(t *testing.T) {
	secret := errors.New("disk /dev/secret failed")
	for _, c := range []struct {
		err         error
		status      int
		core, vault string
	}{
		{secret, 500, `{"detail":"Internal Server Error"}`, `{"statusCode":500,"message":"Internal Server Error","error":"Internal Server Error"}`},
		{fault.Hide(fault.Unavailable, "read the vault", secret), 503, `{"detail":"read the vault"}`, `{"statusCode":503,"message":"read the vault","error":"Service Unavailable"}`},
		{fmt.Errorf("share: %w", fault.Errorf(fault.Forbidden, "you may not")), 403, `{"detail":"you may not"}`, `{"statusCode":403,"message":"you may not","error":"Forbidden"}`},
		{fault.Errorf(fault.Unauthenticated, "the token has expired"), 401, `{"detail":"Not authenticated"}`, `{"error":"unauthenticated"}`},
		{fault.Errorf(fault.NotFound, "no job 7"), 404, `{"detail":"no job 7"}`, `{"statusCode":404,"message":"not_found","error":"Not Found"}`},
		{fault.Errorf(fault.Conflict, "taken"), 409, `{"detail":"taken"}`, `{"statusCode":409,"message":"taken","error":"Conflict"}`},
		{fault.Errorf(fault.Invalid, "no name"), 422, `{"detail":[{"type":"value_error","loc":["body"],"msg":"Value error, no name","input":null,"ctx":{"error":{}}}]}`, `{"statusCode":422,"message":["no name"],"error":"Unprocessable Entity"}`},
		{Rejected{"a", "b"}, 422, `{"detail":[{"type":"value_error","loc":["body"],"msg":"Value error, a; b","input":null,"ctx":{"error":{}}}]}`, `{"statusCode":422,"message":["a","b"],"error":"Unprocessable Entity"}`},
		{fault.Later("search", 3*time.Second, "wait"), 429, `{"detail":"wait","rate_limit":{"limit":"search","retry_after":3}}`, `{"statusCode":429,"message":"wait","error":"Too Many Requests","rate_limit":{"limit":"search","retry_after":3}}`},
		{&http.MaxBytesError{Limit: 1}, 413, `{"detail":"the body is too large"}`, `{"statusCode":413,"message":"the body is too large","error":"Request Entity Too Large"}`},
		{&Error{416, RangeNotSatisfiable}, 416, `{"detail":"Range Not Satisfiable"}`, `{"statusCode":416,"message":"Range Not Satisfiable","error":"Range Not Satisfiable"}`},
	} {
		for _, d := range []struct {
			name    string
			dialect Dialect
			want    string
		}{{"Core", Core, c.core}, {"Vault", Vault, c.vault}} {
			w := httptest.NewRecorder()
			d.dialect.Fail(w, c.err)
			if w.Code != c.status || w.Body.String() != d.want {
				t.Errorf("%s.Fail(%v) = %d %s, want %d %s", d.name, c.err, w.Code, w.Body, c.status, d.want)
			}
		}
	}
}

func TestEveryKindHasAStatus(t *testing.T) {
	for kind := fault.Internal; !strings.HasPrefix(kind.String(), "kind "); kind++ {
		if status, _ := Describe(fmt.Errorf("wrapped: %w", fault.Errorf(kind, "x"))); status < 400 || status > 599 {
			t.Errorf("a fault of kind %q has the status %d: add the kind to statuses in http/problem/status.go", kind, status)
		}
	}
}

func TestFailSetsHeaders(t *testing.T) {
	for _, c := range []struct {
		err          error
		header, want string
	}{
		{fault.Errorf(fault.Unauthenticated, "x"), "WWW-Authenticate", "Bearer"},
		{commands.ErrReadOnly, "WWW-Authenticate", `Bearer error="insufficient_scope", error_description="the token may only read", scope="write"`},
		{fault.Errorf(fault.Forbidden, "x"), "WWW-Authenticate", ""},
		{fault.Errorf(fault.Unavailable, "x"), "Retry-After", "5"},
		{fault.Later("search", 3*time.Second, "x"), "Retry-After", "3"},
		{fault.Errorf(fault.Conflict, "x"), "X-Content-Type-Options", "nosniff"},
	} {
		w := httptest.NewRecorder()
		if Vault.Fail(w, c.err); w.Header().Get(c.header) != c.want {
			t.Errorf("Fail(%v) sets %s to %q, want %q", c.err, c.header, w.Header().Get(c.header), c.want)
		}
	}
}

// An error reply lists every wrong field, up to MaxFaults, and repeats only short input
// values.
func TestFieldsAreBounded(t *testing.T) {
	var none Fields
	if err := none.Err(); err != nil {
		t.Errorf("no fields: %v", err)
	}
	var fields Fields
	loc := []any{"body", "tags"}
	for i := range 2 * MaxFaults {
		fields.Add("string_type", "Input should be a valid string", strings.Repeat("x", i*MaxEcho), nil, Under(loc, i)...)
	}
	fields.AddValue(loc, errors.New("secret"), nil)
	fields.Unknown("tagz", 1, []string{"tags"}, loc)
	fields.TooLong(nil, 1, 2, loc)
	if len(fields) != MaxFaults || fields[0].Input != "" || fields[1].Input != nil || fmt.Sprint(fields[7].Loc) != "[body tags 7]" {
		t.Errorf("%d fields, the first %+v", len(fields), fields[:2])
	}
	if got, want := fields.Err().Error(), "Input should be a valid string (string_type in body.tags.0)"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}
