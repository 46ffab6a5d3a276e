package pages

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"annals/commands/importer/extract"
	"annals/events/fault"
	"annals/events/originals"
)

// version is part of the keys of pictures. Increment it with each change of how pages are drawn.
const version = 1

const (
	maxWait     = 10 * time.Second // how long a page waits until other pages have been shown
	keepFailure = 5 * time.Minute  // how long the error of a page that cannot be shown is remembered
	maxFailures = 1_000
	keepOpen    = 30 * time.Second // how long a file is kept open
	maxOpen     = 8                // number of files that are kept open
)

// Pages shows pages of originals. Its fields must be set before use and not be changed
// afterwards. It is safe for concurrent use. Close it after use.
type Pages struct {
	Originals originals.Store
	Viewer    extract.Viewer
	Cache     *Cache       // may be nil
	AtOnce    int          // maximum number of pages that are read or drawn concurrently; default 1
	Logger    *slog.Logger // default slog.Default()

	once     sync.Once
	slots    chan struct{}
	mu       sync.Mutex
	failures map[string]failure
	files    map[string]*local // by original
}

// local is a local file with an original. Opening it may have been a download.
type local struct {
	path    string
	release func()
	users   int
	timer   *time.Timer // closes the file; nil while it is in use
}

// failure is the error of a page that cannot be shown. Such a page may take its whole time
// limit each time.
type failure struct {
	err   error
	until time.Time
}

// Tag identifies a picture of a page, for ETags: equal tags mean equal pictures.
func (p *Pages) Tag(original string, page, width int) string {
	return fmt.Sprintf("%s-%d-%d-%d", original, page, width, version)
}

// Picture returns a page of an original as a PNG file. See extract.Viewer for width and for the
// errors. The error is also of kind fault.Unavailable if too many other pages are being shown.
func (p *Pages) Picture(ctx context.Context, original, mediaType string, page, width int) (picture []byte, err error) {
	key := fmt.Sprintf("picture %d page %d width %d", version, page, width)
	if picture, ok := p.Cache.Get(original, key); ok {
		return picture, nil
	}
	err = p.show(ctx, original, fmt.Sprint("picture ", page), func(path string) error {
		var cached bool
		if picture, cached = p.Cache.Get(original, key); cached { // drawn while this request waited
			return nil
		}
		if picture, err = p.Viewer.Picture(ctx, extract.Original{Path: path, MediaType: mediaType, SHA256: original}, page, width); err != nil {
			return err
		}
		if err := p.Cache.Put(original, key, picture); err != nil {
			p.Logger.WarnContext(ctx, "cannot cache the picture of a page", "error", err)
		}
		return nil
	})
	return picture, err
}

// Words returns the words of a page of an original. The errors are those of Picture.
func (p *Pages) Words(ctx context.Context, original, mediaType string, page int) (words extract.Page, err error) {
	err = p.show(ctx, original, fmt.Sprint("words ", page), func(path string) error {
		words, err = p.Viewer.Words(ctx, extract.Original{Path: path, MediaType: mediaType, SHA256: original}, page)
		return err
	})
	return words, err
}

// show waits for a slot and calls do with the path of the original. what names that which is
// shown. After an error that the original causes, show returns the same error for some time.
func (p *Pages) show(ctx context.Context, original, what string, do func(path string) error) error {
	p.once.Do(p.begin)
	what = original + " " + what
	if err := p.failed(what); err != nil {
		return err
	}
	wait := time.NewTimer(maxWait)
	defer wait.Stop()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-wait.C:
		return fault.Errorf(fault.Unavailable, "too many other pages are being shown: try again")
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := p.failed(what); err != nil { // while this request waited
		return err
	}
	file, err := p.open(ctx, original)
	if err != nil {
		// An event refers to the original. If it is missing, the client made no mistake.
		return fault.Hide(fault.Unavailable, "the original of the document cannot be read at the moment", err)
	}
	defer p.put(original, file)
	err = do(file.path)
	if fault.Is(err, fault.Invalid) {
		p.remember(what, err)
	}
	return err
}

func (p *Pages) begin() {
	p.slots = make(chan struct{}, max(1, p.AtOnce))
	p.failures, p.files = map[string]failure{}, map[string]*local{}
	if p.Logger == nil {
		p.Logger = slog.Default()
	}
}

// open returns a local file with an original. Call put after use.
func (p *Pages) open(ctx context.Context, original string) (*local, error) {
	if f := p.take(original); f != nil {
		return f, nil
	}
	path, release, err := p.Originals.Path(ctx, original)
	if err != nil {
		return nil, err
	}
	return &local{path: path, release: release, users: 1}, nil
}

// take returns the file of an original if it is open.
func (p *Pages) take(original string) *local {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.files[original]
	if f == nil {
		return nil
	}
	if f.users++; f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	return f
}

// put keeps a file open for a while after its last use, because whoever has seen a page often
// looks at the next one.
func (p *Pages) put(original string, f *local) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.users--; f.users > 0 {
		return
	}
	if known := p.files[original]; known == nil && len(p.files) < maxOpen {
		p.files[original] = f
	} else if known != f {
		f.release()
		return
	}
	f.timer = time.AfterFunc(keepOpen, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if f.users == 0 && p.files[original] == f {
			delete(p.files, original)
			f.release()
		}
	})
}

// Close closes the files that are kept open. No page may be shown any more.
func (p *Pages) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for original, f := range p.files {
		if f.timer != nil {
			f.timer.Stop()
		}
		delete(p.files, original)
		f.release()
	}
	return nil
}

func (p *Pages) failed(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.failures[what]; time.Now().Before(f.until) {
		return f.err
	}
	return nil
}

func (p *Pages) remember(what string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.failures) >= maxFailures {
		clear(p.failures)
	}
	p.failures[what] = failure{err, time.Now().Add(keepFailure)}
}
