package console

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"
)

// idle returns a visit of a console with a REST interface that replies nothing.
func idle(t *testing.T) *visit {
	c := New(Options{CoreURL: &url.URL{Path: "/core"}, VaultURL: &url.URL{Path: "/vault"}})
	c.rest = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	return &visit{Request: httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), console: c}
}

func TestComparisonsWaitForALimitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := idle(t)
		for range maxComparing {
			v.console.comparing <- struct{}{}
		}
		_, err := v.console.compareTexts(v, docID, 1, 2)
		if p, told := refusal(err); !told || p.Status != http.StatusServiceUnavailable {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestTextOfWhichNothingCameInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := idle(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		text, cut, err := v.keep(ctx, "/vault/documents/"+docID+"/versions/1/markdown")
		if err != nil || !cut {
			t.Fatal(cut, err)
		}
		if got, err := io.ReadAll(text); err != nil || len(got) > 0 {
			t.Errorf("the text is %q (%v)", got, err)
		}
	})
}
