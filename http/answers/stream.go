package answers

import (
	"context"
	"net/http"
	"sync"
	"time"

	"annals/http/problem"
	"annals/http/sse"
)

// event is an event in the stream of an answer.
type event struct {
	Type string `json:"event_type"` // sentence or error
	Text string `json:"text,omitempty"`

	Error   string `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
}

// complete is the last event of a stream.
type complete struct {
	Type string `json:"event_type"`
	Answer
}

// Stream streams an answer: an event for each sentence that ask passes to its argument, and at the end the whole answer. It writes
// a comment every keepAlive. If stopping ends, the stream ends with an error event. An error of ask is
// returned if nothing was sent before; otherwise it becomes an error event.
func Stream(w http.ResponseWriter, r *http.Request, keepAlive time.Duration, stopping context.Context, ask func(ctx context.Context, sentence func(string) error) (Answer, error)) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(stopping, cancel)()
	out := sse.New(w)
	var beating sync.WaitGroup
	defer beating.Wait()
	defer cancel()
	beating.Go(func() {
		comments := time.NewTicker(keepAlive)
		defer comments.Stop()
		for {
			select {
			case <-comments.C:
				if out.Comment("keep-alive") != nil {
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	})
	a, err := ask(ctx, func(text string) error { return out.Send(event{Type: "sentence", Text: text}) })
	last := any(complete{"complete", a})
	switch {
	case err == nil:
	case stopping.Err() != nil:
		last = event{Type: "error", Error: "stopping", Message: "the server is stopping: ask again"}
	case !out.Started():
		return err
	default:
		_, text := problem.Describe(err)
		last = event{Type: "error", Error: "failed", Message: text}
	}
	_ = out.Send(last) // fails only if the client is gone
	return nil
}
