package consoletest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"annals/cmd/chromiumtest"
)

// stalling is a reverse proxy that begins to reply to requests for streams of events, and then sends nothing.
type stalling struct {
	*httptest.Server
	streams atomic.Int32 // streams that were asked for
}

func startStalling(t *testing.T, base string) *stalling {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var s stalling
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/events") {
			proxy.ServeHTTP(w, r)
			return
		}
		s.streams.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return &s
}

// Behind a proxy that lets no events through, the page of an import asks for the state until the import has ended.
func (s *site) testStalledStream(t *testing.T) {
	stalled := startStalling(t, s.base)
	p := s.page(t)
	// The page waits for 20 s before it takes a stream for broken. Here these go by faster.
	p.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `{
		const set = setTimeout;
		window.setTimeout = (run, time, ...more) => set(run, time === 20000 ? 200 : time, ...more);
	}`}, nil)
	p.Open(stalled.URL + "/import")
	p.Write("input[name=username]", "carol")
	p.Write("input[name=password]", passwords["carol"])
	p.Press("Enter")
	dir := t.TempDir()
	for files := 50; ; files *= 2 { // until an import takes so long that its page sees it run
		p.Wait("the page of imports", `location.pathname === "/import" && document.querySelector("#import")`)
		var names []string
		for n := range files {
			names = append(names, write(t, dir, fmt.Sprintf("stalled-%d-%d.md", files, n), fmt.Sprintf("# Note %d of %d\n\nA stalled note.\n", n, files)))
		}
		p.Write("main input[name=folder]", "Stalled")
		p.Choose("main input[name=files][multiple]", names...)
		p.Click("#import button")
		p.Wait("the page of the import", `location.pathname.startsWith("/import/")`)
		p.Run(`window.loadedOnce = true`)
		p.Wait("the end of the import", `document.querySelector("#sentence.good")?.innerText.includes(`+chromiumtest.Quote(fmt.Sprintf("%d", files))+`)`)
		if p.Run(`String(window.loadedOnce)`) != "true" {
			t.Error("the page was loaded again")
		}
		if stalled.streams.Load() > 0 {
			return
		}
		if files > 1000 {
			t.Fatal("no page asks for events")
		}
		p.Open(stalled.URL + "/import")
	}
}
