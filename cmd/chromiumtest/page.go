package chromiumtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Page is a tab of a browser. Its methods end the test if they fail, with what the page shows.
// A test fails at its end if anything went wrong in the page that no one of Allow allowed: an
// error of a script, a message in the console, a request that failed, or something that the
// Content-Security-Policy stopped.
type Page struct {
	testing.TB
	browser *Browser
	session string
	context string               // the id of its window
	dragged chan json.RawMessage // what Drag has begun to drag

	mu      sync.Mutex
	faults  []string
	allowed []string
	asked   []string // what dialogs of the page asked
	accept  bool     // the reply to dialogs
}

// NewPage opens a tab in a window that shares no cookies or storage with others. It is closed
// at the end of the test.
func (b *Browser) NewPage(t testing.TB) *Page {
	t.Helper()
	var context struct{ BrowserContextID string }
	if err := b.call("", "Target.createBrowserContext", nil, &context); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": context.BrowserContextID}, nil)
	})
	return b.newTab(t, context.BrowserContextID)
}

// NewTab opens another tab in the window of a page, with the same cookies.
func (p *Page) NewTab() *Page {
	p.Helper()
	return p.browser.newTab(p.TB, p.context)
}

func (b *Browser) newTab(t testing.TB, context string) *Page {
	t.Helper()
	p := &Page{TB: t, browser: b, context: context, accept: true, dragged: make(chan json.RawMessage, 1), allowed: []string{"/favicon.ico"}} // browsers ask for it at times, and pages need none
	p.attach()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the page %s shows %s", p.Run("location.href"), p.Run("document.body?.outerHTML"))
		}
		for _, fault := range p.Faults() {
			t.Errorf("a fault of a page: %s", fault)
		}
	})
	return p
}

// attach opens the tab, and listens to what happens there.
func (p *Page) attach() {
	p.Helper()
	var target struct{ TargetID string }
	p.Must(p.browser.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": p.context}, &target))
	var attached struct{ SessionID string }
	p.Must(p.browser.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached))
	p.session = attached.SessionID
	p.browser.mu.Lock()
	p.browser.pages[p.session] = p
	p.browser.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.Call(domain+".enable", nil, nil)
	}
	p.Size(1280, 800)
}

// Must ends the test if there is an error.
func (p *Page) Must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// Call sends a command of the DevTools protocol to the page, and decodes the reply into result
// unless that is nil.
func (p *Page) Call(method string, params, result any) {
	p.Helper()
	p.Must(p.browser.call(p.session, method, params, result))
}

// event records what goes wrong in the page, and replies to dialogs. The browser calls it.
func (p *Page) event(method string, params json.RawMessage) {
	switch method {
	case "Runtime.exceptionThrown":
		var e struct {
			ExceptionDetails struct {
				Text, URL string
				Exception struct{ Description string }
			}
		}
		_ = json.Unmarshal(params, &e)
		p.fault("script: " + e.ExceptionDetails.Text + " " + e.ExceptionDetails.Exception.Description)
	case "Runtime.consoleAPICalled":
		var e struct {
			Type string
			Args []struct {
				Value       any
				Description string
			}
		}
		_ = json.Unmarshal(params, &e)
		p.fault(fmt.Sprintf("console.%s: %v", e.Type, e.Args))
	case "Log.entryAdded":
		var e struct {
			Entry struct{ Source, Level, Text, URL string }
		}
		_ = json.Unmarshal(params, &e)
		if e.Entry.Level == "error" || e.Entry.Level == "warning" || e.Entry.Source == "security" {
			p.fault(e.Entry.Source + ": " + e.Entry.Text + " " + e.Entry.URL)
		}
	case "Input.dragIntercepted":
		var e struct{ Data json.RawMessage }
		_ = json.Unmarshal(params, &e)
		select {
		case p.dragged <- e.Data:
		default: // no one waits for it
		}
	case "Page.javascriptDialogOpening":
		var e struct{ Message, Type string }
		_ = json.Unmarshal(params, &e)
		p.mu.Lock()
		p.asked = append(p.asked, e.Message)
		accept := p.accept
		p.mu.Unlock()
		_, _ = p.browser.send(p.session, "Page.handleJavaScriptDialog", map[string]any{"accept": accept})
	}
}

func (p *Page) fault(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, text)
}

// Allow says which faults are meant: those with one of the texts in them.
func (p *Page) Allow(texts ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, texts...)
}

// Faults returns what has gone wrong in the page so far and is not allowed.
func (p *Page) Faults() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fault := range p.faults {
		allowed := false
		for _, text := range p.allowed {
			allowed = allowed || strings.Contains(fault, text)
		}
		if !allowed {
			all = append(all, fault)
		}
	}
	return all
}

// Dialogs sets the reply to questions of the page, which is yes at first, and returns the
// questions since the last call.
func (p *Page) Dialogs(accept bool) (asked []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, p.asked, p.accept = p.asked, nil, accept
	return asked
}

// Open opens an address, as if typed into the address bar, and returns when it is loaded.
func (p *Page) Open(address string) {
	p.Helper()
	var out struct{ ErrorText string }
	p.Call("Page.navigate", map[string]any{"url": address}, &out)
	if out.ErrorText != "" && out.ErrorText != "net::ERR_ABORTED" { // a download ends so
		p.Fatalf("open %s: %s", address, out.ErrorText)
	}
	p.Wait("the page at "+address, `true`) // Page.navigate replies when the old page is gone
}

// Run runs JavaScript in the page and returns its value, or that of its promise, as a text. It
// is "" if there is none, or if the script fails, for example because another page is loaded.
func (p *Page) Run(script string) string {
	value, _ := p.evaluate(script)
	return value
}

// evaluate is like Run, but returns the error of the script.
func (p *Page) evaluate(script string) (string, error) {
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.browser.call(p.session, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &out)
	switch {
	case err != nil:
		return "", err
	case out.ExceptionDetails != nil:
		return "", fmt.Errorf("%s %s", out.ExceptionDetails.Text, out.ExceptionDetails.Exception.Description)
	case out.Result.Value == nil:
		return "", nil
	}
	return fmt.Sprint(out.Result.Value), nil
}

// Wait runs JavaScript repeatedly in a fully loaded page until it returns a value, and returns
// that.
func (p *Page) Wait(what, script string) string {
	p.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if value := p.Run(`document.readyState === "complete" ? (` + script + `) : ""`); value != "" && value != "false" {
			return value
		}
	}
	p.Fatalf("%s does not come at %s; faults: %q", what, p.Run("location.href"), p.Faults())
	return ""
}

// WaitText waits until the page shows a text.
func (p *Page) WaitText(text string) {
	p.Helper()
	p.Wait(fmt.Sprintf("the text %q", text), `document.body.innerText.includes(`+Quote(text)+`)`)
}

// WaitFor waits until an element that a CSS selector selects is there and is seen.
func (p *Page) WaitFor(selector string) {
	p.Helper()
	p.Wait(selector, `document.querySelector(`+Quote(selector)+`)?.checkVisibility()`)
}

// HTML returns the page as the server sent it, without what scripts changed.
func (p *Page) HTML() string {
	p.Helper()
	text, err := p.evaluate(`fetch(location.href, {headers: {Accept: "text/html"}}).then(r => r.text())`)
	p.Must(err)
	return text
}

// Size sets the size of the window.
func (p *Page) Size(width, height int) {
	p.Helper()
	p.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Dark chooses the dark or the light colours.
func (p *Page) Dark(dark bool) {
	p.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.Call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]any{{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}}, nil)
}

// Scripts turns scripts of pages on or off. Those of tests go on to work.
func (p *Page) Scripts(on bool) {
	p.Helper()
	p.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": !on}, nil)
}

// Screenshot writes a picture of the whole page to a file.
func (p *Page) Screenshot(file string) {
	p.Helper()
	var out struct{ Data string }
	p.Call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &out)
	picture, err := base64.StdEncoding.DecodeString(out.Data)
	p.Must(err)
	p.Must(os.WriteFile(file, picture, 0o644))
}

// Quote returns a text as a literal of JavaScript.
func Quote(text string) string {
	out, _ := json.Marshal(text) // a text can always be encoded
	return string(out)
}
