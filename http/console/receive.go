package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// receive makes a GET and writes the body of the reply to w as it is made, so that it can be
// longer than a page may be. It ends early if w returns an error, which it returns.
func (v *visit) receive(ctx context.Context, path string, w io.Writer) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := v.request(ctx, http.MethodGet, path, nil, http.NoBody)
	if err != nil {
		return err
	}
	to := &receiver{header: http.Header{}, to: w, stop: cancel}
	defer func() {
		switch aborted := recover(); {
		case aborted != nil && aborted != http.ErrAbortHandler: //nolint:errorlint // a value of recover
			panic(aborted)
		case to.err != nil:
			err = to.err
		case aborted != nil:
			err = fmt.Errorf("GET %s: %w", path, errors.Join(io.ErrUnexpectedEOF, ctx.Err()))
		case to.status >= http.StatusMultipleChoices:
			err = problemOf(to.status, to.refusal.Bytes())
		}
	}()
	v.console.rest.ServeHTTP(to, r)
	return nil
}

// receiver hands the body of a reply on.
type receiver struct {
	header  http.Header
	status  int
	refusal bytes.Buffer // the body, if the call was refused
	to      io.Writer
	err     error // of to
	stop    func()
}

func (w *receiver) Header() http.Header { return w.header }

func (w *receiver) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *receiver) Write(p []byte) (n int, err error) {
	w.WriteHeader(http.StatusOK)
	if w.status >= http.StatusMultipleChoices {
		p = p[:min(len(p), maxForm-w.refusal.Len())]
		return w.refusal.Write(p)
	}
	if n, err = w.to.Write(p); err != nil {
		w.err = err
		w.stop() // nothing more has to be read for it
	}
	return n, err
}
