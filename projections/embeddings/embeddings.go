// Package embeddings gets vectors of texts from an endpoint with the embeddings API of
// OpenAI. Texts with similar meanings have vectors with similar directions. The package may
// import endpoint and events/fault.
package embeddings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"annals/endpoint"
	"annals/events/fault"

	"github.com/cenkalti/backoff/v5"
	"github.com/sashabaranov/go-openai"
	"github.com/sony/gobreaker/v2"
)

// Settings name an endpoint and a model. The zero value means that there is none.
type Settings struct {
	URL        string // to which /embeddings is appended, such as https://host/v1
	Model      string // as the endpoint names it
	Dimensions int    // of the model's vectors
	Key        string // sent as a bearer token; "" means none
	// QueryTime is how long a search waits for the vector of its query; default half a
	// second.
	QueryTime time.Duration
	// RequestTime is the maximum duration of a request; default 30 seconds.
	RequestTime time.Duration
}

// Limits of Settings.
const (
	MinDimensions = 8
	MaxDimensions = 8192
	maxModelBytes = 200
)

// On reports whether there is an endpoint.
func (s Settings) On() bool { return s != Settings{Key: s.Key} }

// Check returns an error that names the first invalid setting by its flag.
func (s Settings) Check() error {
	if !s.On() {
		return nil
	}
	if s.URL == "" {
		return errors.New("--embeddings is missing: pass the URL of an endpoint, such as https://host/v1, or leave out the other flags of embeddings")
	}
	if err := endpoint.CheckURL(s.URL); err != nil {
		return fmt.Errorf("--embeddings: %w. The key belongs into the environment variable ANNALS_EMBEDDINGS_KEY", err)
	}
	switch {
	case s.Model == "":
		return errors.New("--embeddings-model is missing: pass the name by which the endpoint knows the model")
	case len(s.Model) > maxModelBytes:
		return fmt.Errorf("--embeddings-model must have at most %d bytes", maxModelBytes)
	case s.Dimensions < MinDimensions || s.Dimensions > MaxDimensions || s.Dimensions%8 != 0:
		return fmt.Errorf("--embeddings-dimensions must be a multiple of 8 from %d to %d: pass the number of dimensions of the model's vectors", MinDimensions, MaxDimensions)
	}
	return nil
}

const (
	// maxBatch is the maximum number of texts in a request, maxText the maximum size of a
	// text in bytes; the rest of a longer text is not sent.
	maxBatch = 32
	maxText  = 8 << 10
	// numberBytes is the maximum size of a number in a reply, and replyBytes that of the
	// rest of a reply.
	numberBytes = 32
	replyBytes  = 64 << 10
	// maxReply does not depend on Settings.Dimensions, because the model of an earlier
	// generation may have more.
	maxReply = maxBatch*MaxDimensions*numberBytes + replyBytes
	// requestTime is the default of Settings.RequestTime, and batchTime the maximum duration
	// of a batch with its retries.
	requestTime = 30 * time.Second
	batchTime   = 45 * time.Second
	// atOnce is the maximum number of concurrent requests for texts of documents.
	atOnce = 4
	// maxTries is the maximum number of requests for a batch while errors are transient.
	maxTries = 3
	// textsTime is the maximum duration of Texts.
	textsTime = 2 * batchTime
	// queryTime is the default of Settings.QueryTime.
	queryTime = 500 * time.Millisecond
	// failures is the number of consecutive failures after which queries are not sent for
	// the time rest.
	failures = 3
	rest     = 10 * time.Second
	// remembered is the maximum number of queries whose vectors are remembered, so that
	// further pages of a search are cut from the same order.
	remembered = 256
	// maxKept is the maximum number of vectors that failed calls of Texts leave for their
	// repetition. Two generations may be filled at the same time, with 256 passages each.
	maxKept = 1024
)

// Client asks an endpoint. Its methods may be called concurrently.
type Client struct {
	settings Settings
	api      *openai.Client
	breaker  *gobreaker.CircuitBreaker[[][]float32]
	observe  func(Request)

	mu      sync.Mutex
	size    int    // texts in a request: fewer than maxBatch after one has timed out
	kept    recent // vectors of calls of Texts that failed, for their repetition
	queries recent
}

// recent keeps the latest vectors. Its zero value is empty.
type recent struct {
	vectors map[asked][]float32
	order   []asked // the oldest first
}

// add adds a vector, and removes the oldest ones beyond a limit.
func (r *recent) add(key asked, vector []float32, limit int) {
	if _, known := r.vectors[key]; known {
		return
	}
	if r.vectors == nil {
		r.vectors = make(map[asked][]float32)
	}
	for len(r.order) >= limit {
		delete(r.vectors, r.order[0])
		r.order = r.order[1:]
	}
	r.vectors[key] = vector
	r.order = append(r.order, key)
}

// remove removes the vectors with some keys.
func (r *recent) remove(keys []asked) {
	if len(r.vectors) == 0 {
		return
	}
	for _, key := range keys {
		delete(r.vectors, key)
	}
	r.order = slices.DeleteFunc(r.order, func(key asked) bool { return r.vectors[key] == nil })
}

// asked is a text of which a vector was asked for. A model may have several dimensions.
type asked struct {
	model      string
	dimensions int
	text       string
}

// Request describes a request that has ended.
type Request struct {
	Query bool // of a search, not of documents
	Texts int
	Took  time.Duration
	Err   error
}

// New returns a client of an endpoint. After each request it calls observe, unless that is
// nil. The settings must have passed Check.
func New(s Settings, observe func(Request)) *Client {
	return &Client{
		settings: s, api: endpoint.NewClient(s.URL, s.Key, maxReply), observe: observe, size: maxBatch,
		breaker: gobreaker.NewCircuitBreaker[[][]float32](gobreaker.Settings{
			Name: "embeddings", Timeout: rest,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
			IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) }, // says nothing about the endpoint
		}),
	}
}

// Model returns the name of the model and the number of dimensions of its vectors.
func (c *Client) Model() (name string, dimensions int) {
	return c.settings.Model, c.settings.Dimensions
}

// Query returns the vector of a query, of length 1. It waits at most Settings.QueryTime, and fails
// immediately if several queries before have failed. The error is fault.Unavailable.
func (c *Client) Query(ctx context.Context, model string, dimensions int, text string) ([]float32, error) {
	key := asked{model, dimensions, clip(text)}
	if v := c.recall(key); v != nil {
		return v, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.settings.QueryTime, queryTime))
	defer cancel()
	found, err := c.breaker.Execute(func() ([][]float32, error) { return c.request(ctx, true, model, dimensions, []string{key.text}) })
	if err != nil {
		return nil, unavailable(err)
	}
	c.remember(key, found[0])
	return found[0], nil
}

func (c *Client) recall(key asked) []float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queries.vectors[key]
}

func (c *Client) remember(key asked, vector []float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queries.add(key, vector, remembered)
}

// Texts returns the vectors of texts, of length 1, in the same order. A text that the
// endpoint refuses, although it accepts others, has no vector. The error is
// fault.Unavailable.
func (c *Client) Texts(ctx context.Context, model string, dimensions int, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	keys := make([]asked, len(texts))
	var at []int // indexes of texts that are not kept
	var lacking []string
	c.mu.Lock()
	for i, text := range texts {
		keys[i] = asked{model, dimensions, text}
		if vectors[i] = c.kept.vectors[keys[i]]; vectors[i] == nil {
			at, lacking = append(at, i), append(lacking, text)
		}
	}
	c.mu.Unlock()
	made, err := c.batches(ctx, model, dimensions, lacking)
	for k, i := range at {
		vectors[i] = made[k]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.kept.remove(keys)
		return vectors, nil
	}
	for i, v := range vectors {
		if v != nil {
			c.kept.add(keys[i], v, maxKept)
		}
	}
	return nil, unavailable(err)
}

// batches returns the vectors of texts, of which some are nil if there is an error.
func (c *Client) batches(ctx context.Context, model string, dimensions int, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	ctx, end := context.WithTimeout(ctx, textsTime)
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, atOnce)
	var requests sync.WaitGroup
	for begin := 0; begin < len(texts) && ctx.Err() == nil; {
		size := c.paced(0, false)
		from, to := begin, min(begin+size, len(texts))
		begin = to
		slots <- struct{}{}
		requests.Go(func() {
			defer func() { <-slots }()
			if err := c.batch(ctx, model, dimensions, texts[from:to], vectors[from:to]); err != nil {
				cancel(err)
			}
		})
		if size < maxBatch {
			requests.Wait() // a slow endpoint gets one request at a time
		}
	}
	requests.Wait()
	return vectors, context.Cause(ctx)
}

// paced returns the number of texts for a request, after one took some time: half as many if
// it timed out, and twice as many if it was fast.
func (c *Client) paced(took time.Duration, timedOut bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case timedOut:
		c.size = max(1, c.size/2)
	case took > 0 && took < c.requestTime()/8:
		c.size = min(maxBatch, 2*c.size)
	}
	return c.size
}

func (c *Client) requestTime() time.Duration { return cmp.Or(c.settings.RequestTime, requestTime) }

// batch sets the vectors of some texts. If the endpoint refuses the texts, batch asks again
// for each half of them, because a single text may be the reason, for example because it
// has too many tokens.
func (c *Client) batch(ctx context.Context, model string, dimensions int, texts []string, vectors [][]float32) error {
	clipped := make([]string, len(texts))
	for i, t := range texts {
		clipped[i] = clip(t)
	}
	begun := time.Now()
	found, err := c.retried(ctx, model, dimensions, clipped)
	if timedOut := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil; timedOut || err == nil {
		c.paced(time.Since(begun), timedOut)
	}
	switch {
	case err == nil:
		copy(vectors, found)
		return nil
	case !isRefusal(err):
		return err
	case len(texts) == 1:
		// Skip the text only if the endpoint accepts another one. Otherwise it refuses
		// the model or the form of the request.
		_, err = c.retried(ctx, model, dimensions, []string{"text"})
		return err
	}
	half := len(texts) / 2
	if err := c.batch(ctx, model, dimensions, texts[:half], vectors[:half]); err != nil {
		return err
	}
	return c.batch(ctx, model, dimensions, texts[half:], vectors[half:])
}

// retried is request with some retries after transient errors.
func (c *Client) retried(ctx context.Context, model string, dimensions int, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	return backoff.Retry(ctx, func() ([][]float32, error) {
		found, err := c.request(ctx, false, model, dimensions, texts)
		if err != nil && !isTransient(err) {
			err = backoff.Permanent(err)
		}
		return found, err
	}, backoff.WithBackOff(backoff.NewExponentialBackOff()), backoff.WithMaxTries(maxTries))
}

// request sends one request and checks the reply.
func (c *Client) request(ctx context.Context, query bool, model string, dimensions int, texts []string) (vectors [][]float32, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.requestTime())
	defer cancel()
	begun := time.Now()
	if c.observe != nil {
		defer func() { c.observe(Request{query, len(texts), time.Since(begun), err}) }()
	}
	reply, err := c.api.CreateEmbeddings(ctx, openai.EmbeddingRequestStrings{Input: texts, Model: openai.EmbeddingModel(model)})
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	if len(reply.Data) != len(texts) {
		return nil, replyError("it returned %d vectors for %d texts", len(reply.Data), len(texts))
	}
	vectors = make([][]float32, len(texts))
	for _, e := range reply.Data {
		if e.Index < 0 || e.Index >= len(texts) || vectors[e.Index] != nil {
			return nil, replyError("it returned the index %d out of order for %d texts", e.Index, len(texts))
		}
		if len(e.Embedding) != dimensions {
			return nil, replyError("it returned a vector of %d dimensions for the model %s, not of %d: correct --embeddings-dimensions", len(e.Embedding), model, dimensions)
		}
		if !normalise(e.Embedding) {
			return nil, replyError("it returned a vector without a direction")
		}
		vectors[e.Index] = e.Embedding
	}
	return vectors, nil
}

// badReply is the error of a reply that cannot be used.
type badReply string

func (e badReply) Error() string { return string(e) }

func replyError(format string, args ...any) error { return badReply(fmt.Sprintf(format, args...)) }

// normalise makes the length of a vector 1. ok is false if that is impossible.
func normalise(v []float32) (ok bool) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if length == 0 || math.IsInf(length, 0) || math.IsNaN(length) {
		return false
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return true
}

func clip(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return text
}

// isTransient reports whether the same request may soon succeed.
func isTransient(err error) bool {
	s := endpoint.StatusOf(err)
	return s == http.StatusTooManyRequests || s == http.StatusRequestTimeout || s >= 500
}

// isRefusal reports whether the endpoint refused a request because of its texts.
func isRefusal(err error) bool {
	switch endpoint.StatusOf(err) {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// unavailable returns an error of kind fault.Unavailable.
func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	text := "the embeddings endpoint does not respond"
	var bad badReply
	var network net.Error
	switch s := endpoint.StatusOf(err); {
	case errors.As(err, &bad):
		text = "the embeddings endpoint cannot be used: " + bad.Error()
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		text = "the embeddings endpoint refused the key: check ANNALS_EMBEDDINGS_KEY"
	case s != 0:
		text = fmt.Sprintf("the embeddings endpoint replied with status %d", s)
	case !errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, gobreaker.ErrOpenState) && !errors.Is(err, gobreaker.ErrTooManyRequests):
		text = "the embeddings endpoint cannot be used: its reply cannot be read"
	}
	return fault.Hide(fault.Unavailable, text, err)
}
