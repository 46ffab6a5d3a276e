// Package assets serves the scripts, the style sheet and the icon of the console's pages. It
// imports no other package of this module.
package assets

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"

	"github.com/gorilla/mux"
)

// Files are the assets.
//
//go:embed *.css *.js *.svg
var Files embed.FS

// types are the content types of assets. Those that the machine has for their extensions may be
// others, with which browsers run no script.
var types = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// tag is a digest of all assets. It is part of their addresses, so browsers may keep them until
// they change.
var tag = digest()

func digest() string {
	sum := sha256.New()
	err := fs.WalkDir(Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := Files.ReadFile(name)
		fmt.Fprintf(sum, "%s %d\n", name, len(content))
		sum.Write(content)
		return err
	})
	if err != nil {
		panic(err) // unreachable: the files are part of the program
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// URL returns the address of an asset. The digest is a folder in it, and no query, so that a
// script that imports another by its name gets the one that the page has loaded, and not a second
// one with the same effects.
func URL(name string) string { return "/console/" + tag + "/" + name }

// Mount adds the routes of the assets.
func Mount(root *mux.Router) {
	for _, folder := range []string{"/console/", "/console/{tag:[0-9a-f]{12}}/"} {
		root.HandleFunc(folder+"{file:[a-z]+\\.(?:css|js|svg)}", serve).Methods(http.MethodGet, http.MethodHead)
	}
	root.HandleFunc("/{file:favicon\\.ico}", serve).Methods(http.MethodGet, http.MethodHead) // of pages that name no icon, such as those of the sign-in
}

func serve(w http.ResponseWriter, r *http.Request) {
	name, asked := mux.Vars(r)["file"], mux.Vars(r)["tag"]
	if name == "favicon.ico" {
		name = "icon.svg"
	}
	content, err := Files.ReadFile(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", types[path.Ext(name)])
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", `"`+tag+`"`)
	h.Set("Cache-Control", "public, no-cache")
	if asked == tag {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}
