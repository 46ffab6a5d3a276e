package chromiumtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Click clicks with the mouse on the first element that a CSS selector selects, once it is
// seen and nothing covers it.
func (p *Page) Click(selector string) {
	p.Helper()
	x, y := p.place(selector)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil)
	}
}

// place returns the middle of an element that can be clicked.
func (p *Page) place(selector string) (x, y float64) {
	p.Helper()
	at := p.Wait("a place to click on "+selector, `(() => {
		const e = document.querySelector(`+Quote(selector)+`);
		if (!e || !e.checkVisibility()) return "";
		e.scrollIntoView({block: "center", behavior: "instant"});
		const r = [...e.getClientRects()].find(r => r.width && r.height);
		if (!r) return "";
		const x = r.x + r.width / 2, y = r.y + r.height / 2, top = document.elementFromPoint(x, y);
		return e.contains(top) || top?.contains(e) && getComputedStyle(e).display === "contents" ? JSON.stringify([x, y]) : "";
	})()`)
	var point [2]float64
	p.Must(json.Unmarshal([]byte(at), &point))
	return point[0], point[1]
}

// Write types a text into the field that a CSS selector selects, in place of what is there.
func (p *Page) Write(selector, text string) {
	p.Helper()
	p.WaitFor(selector)
	p.Run(`{const e = document.querySelector(` + Quote(selector) + `); e.focus(); e.select?.()}`)
	p.Type(text)
}

// Type types a text where the focus is.
func (p *Page) Type(text string) {
	p.Helper()
	p.Call("Input.insertText", map[string]any{"text": text}, nil)
}

// keys are the codes and texts of keys by their names.
var keys = map[string]struct {
	code int
	text string
}{
	"Enter": {13, "\r"}, "Tab": {9, ""}, "Escape": {27, ""}, " ": {32, " "}, "/": {191, "/"}, "?": {191, "?"},
	"ArrowLeft": {37, ""}, "ArrowRight": {39, ""}, "ArrowUp": {38, ""}, "ArrowDown": {40, ""},
}

// Press presses keys one after the other: a letter, or the name of a key, with Shift+ before it.
func (p *Page) Press(names ...string) {
	p.Helper()
	for _, name := range names {
		modifiers := 0
		key, shift := strings.CutPrefix(name, "Shift+")
		if shift {
			modifiers = 8
		}
		k, known := keys[key]
		if !known {
			if len(key) != 1 {
				p.Fatalf("there is no key %q", key)
			}
			k.code, k.text = int(strings.ToUpper(key)[0]), key
		}
		down := "rawKeyDown"
		if k.text != "" {
			down = "keyDown"
		}
		p.Call("Input.dispatchKeyEvent", map[string]any{"type": down, "key": key, "windowsVirtualKeyCode": k.code, "text": k.text, "modifiers": modifiers}, nil)
		p.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": k.code, "modifiers": modifiers}, nil)
	}
}

// TabTo presses Tab until the element that a CSS selector selects has the focus.
func (p *Page) TabTo(selector string) {
	p.Helper()
	for range 60 {
		if p.Run(`document.activeElement.matches(`+Quote(selector)+`)`) == "true" {
			return
		}
		p.Press("Tab")
	}
	p.Fatalf("the key Tab does not lead to %s; it is now at %s", selector, p.Run("document.activeElement.outerHTML"))
}

// Choose chooses files in the file field that a CSS selector selects.
func (p *Page) Choose(selector string, files ...string) {
	p.Helper()
	p.WaitFor(selector)
	var out struct{ Result struct{ ObjectID string } }
	p.Call("Runtime.evaluate", map[string]any{"expression": "document.querySelector(" + Quote(selector) + ")"}, &out)
	p.Call("DOM.setFileInputFiles", map[string]any{"files": files, "objectId": out.Result.ObjectID}, nil)
}

// Drop drops files and folders from the desktop on the element that a CSS selector selects.
func (p *Page) Drop(selector string, files ...string) {
	p.Helper()
	x, y := p.place(selector)
	data := map[string]any{"items": []any{}, "files": files, "dragOperationsMask": 1}
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		p.Call("Input.dispatchDragEvent", map[string]any{"type": kind, "x": x, "y": y, "data": data}, nil)
	}
}

// Drag drags an element onto another with the mouse.
func (p *Page) Drag(from, to string) {
	p.Helper()
	x, y := p.place(from)
	toX, toY := p.place(to)
	mouse := func(kind string, x, y float64) {
		p.Helper()
		p.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}, nil)
	}
	// What the browser begins to drag comes as an event. Otherwise it would be lost in a browser without a screen.
	p.Call("Input.setInterceptDrags", map[string]any{"enabled": true}, nil)
	mouse("mousePressed", x, y)
	mouse("mouseMoved", x+(toX-x)/3, y+(toY-y)/3)
	mouse("mouseMoved", x+(toX-x)/2, y+(toY-y)/2)
	var data json.RawMessage
	select {
	case data = <-p.dragged:
	case <-time.After(patience):
		p.Fatalf("%s cannot be dragged", from)
	}
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		p.Call("Input.dispatchDragEvent", map[string]any{"type": kind, "x": toX, "y": toY, "data": data}, nil)
	}
	mouse("mouseReleased", toX, toY)
	p.Call("Input.setInterceptDrags", map[string]any{"enabled": false}, nil)
}

// Rectangle is a place in the window in CSS pixels.
type Rectangle struct{ X, Y, Width, Height float64 }

// Rectangles returns where the elements are that a CSS selector selects.
func (p *Page) Rectangles(selector string) (all []Rectangle) {
	p.Helper()
	text := p.Run(`JSON.stringify([...document.querySelectorAll(` + Quote(selector) + `)].map(e => e.getBoundingClientRect()))`)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		p.Fatal(fmt.Errorf("the places of %s: %w", selector, err))
	}
	return all
}
