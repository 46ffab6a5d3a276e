// Package llm calls a language model behind an endpoint with the API of OpenAI. Every call is
// limited in time, tokens and bytes, few calls run concurrently, and a breaker stops calling
// an endpoint that keeps failing. The caller always needs another way to go on: a call that
// fails says why, and is not repeated.
//
// It imports endpoint.
package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"annals/endpoint"

	"github.com/sashabaranov/go-openai"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"
)

// Reason says why a call failed.
type Reason string

// The reasons.
const (
	Busy        Reason = "busy"        // too many calls are running
	Unreachable Reason = "unreachable" // no connection, status 5xx, or the breaker is open
	TimedOut    Reason = "timed_out"   // it took longer than the limit
	Limited     Reason = "limited"     // the endpoint limits the rate or the amount of calls: status 429
	Refused     Reason = "refused"     // the endpoint rejected the call, or the model refused to answer
	Unreadable  Reason = "unreadable"  // the reply does not follow the API, or has no text
)

// Reasons returns every reason.
func Reasons() []Reason {
	return []Reason{Busy, Unreachable, TimedOut, Limited, Refused, Unreadable}
}

// Error is the error of a call.
type Error struct {
	Reason Reason
	Err    error // for the operator; it may quote the endpoint
}

func (e *Error) Error() string { return fmt.Sprintf("ask the language model: %s: %v", e.Reason, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the reason of an error of Stream.
func ReasonOf(err error) Reason {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Reason
	}
	return Unreachable
}

// Options configure a Client. The zero value of a limit selects the default in its comment.
type Options struct {
	URL   string // of the API, such as https://api.openai.com/v1
	Model string
	Key   string // sent as a bearer token; may be ""

	Timeout      time.Duration // of a call, including the wait for others; 30 s
	InputTokens  int           // of the messages, estimated; 6,000
	OutputTokens int           // of the reply; 800
	AtOnce       int           // maximum number of concurrent calls; 4
	// InputPrice and OutputPrice are what a million tokens cost, in any currency.
	InputPrice, OutputPrice float64
}

// Client calls one model. Its methods are safe for concurrent use.
type Client struct {
	Options
	api     *openai.Client
	slots   *semaphore.Weighted
	breaker *gobreaker.TwoStepCircuitBreaker[any]
}

// The breaker opens after failures failed calls in a row. After pause it lets one call
// through, and closes if that succeeds.
const (
	failures = 5
	pause    = 30 * time.Second
)

// errLeft is what the breaker is told of a call that the caller ended: it says nothing about
// the endpoint.
var errLeft = errors.New("the caller ended the call")

// New returns a client. It does not connect.
func New(o Options) (*Client, error) {
	if err := endpoint.CheckURL(o.URL); err != nil {
		return nil, err
	}
	orElse(&o.Timeout, 30*time.Second)
	orElse(&o.InputTokens, 6000)
	orElse(&o.OutputTokens, 800)
	orElse(&o.AtOnce, 4)
	return &Client{
		Options: o, api: endpoint.NewClient(o.URL, o.Key, maxReply(o.OutputTokens)), slots: semaphore.NewWeighted(int64(o.AtOnce)),
		breaker: gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
			Timeout: pause, ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
			IsSuccessful: func(err error) bool {
				e := (*Error)(nil)
				return !errors.As(err, &e) || e.Reason == Refused || e.Reason == Unreadable
			},
			IsExcluded: func(err error) bool { return err == errLeft },
		}),
	}, nil
}

func orElse[T comparable](v *T, def T) {
	if *v == *new(T) {
		*v = def
	}
}

// Message is a part of a prompt.
type Message struct {
	Role    string `json:"role"` // System or User
	Content string `json:"content"`
}

// The roles of messages.
const (
	System = openai.ChatMessageRoleSystem
	User   = openai.ChatMessageRoleUser
)

// Failure returns why the reply broke off, or "" if it did not fail.
func (r Reply) Failure() Reason {
	switch {
	case r.cause != nil:
		return ReasonOf(r.cause)
	case r.lost:
		return Unreachable
	}
	return ""
}

// Usage is what a call used. The tokens are estimated if the endpoint does not report them, and zero if it rejected the call
// with a status or was not reached.
type Usage struct {
	Input, Output int // tokens
	Cost          float64
}

// Tokens estimates the tokens of a text, rather too high: English has four bytes a token,
// Chinese and Japanese about three.
func Tokens(text string) int { return len(text)/3 + 1 }

// InputOf estimates the tokens of messages.
func InputOf(messages []Message) int {
	n := 0
	for _, m := range messages {
		const frame = 8 // tokens that separate messages
		n += Tokens(m.Content) + frame
	}
	return n
}

// Most returns the most that a call with these messages may use.
func (c *Client) Most(messages []Message) Usage {
	return c.priced(InputOf(messages), c.OutputTokens)
}

func (c *Client) priced(input, output int) Usage {
	return Usage{input, output, (float64(input)*c.InputPrice + float64(output)*c.OutputPrice) / 1e6}
}

// Reply is what the model wrote.
type Reply struct {
	Text  string
	Cut   bool // the reply does not end here: a limit was reached, or the connection was lost
	Usage Usage

	cause error // an *Error if the call failed after some text had arrived
	lost  bool  // the connection ended, and the endpoint had not said that the reply does
}

// Stream asks the model, and calls each with the pieces of its reply as they arrive. If each
// returns an error, Stream ends with that error. If the call fails after some text has arrived, Stream returns
// what there is, with Cut set, and no error. Else the error is an *Error, or that of ctx. Usage is set in any case.
func (c *Client) Stream(ctx context.Context, messages []Message, each func(piece string) error) (Reply, error) {
	return c.StreamSince(ctx, time.Now(), messages, each)
}

// Patience is how long a call waits for others to end: only a part of the time, because the call
// needs the rest.
func (c *Client) Patience() time.Duration { return c.Timeout / 4 }

// StreamSince is Stream for a caller that has waited since began: the time it waited counts.
func (c *Client) StreamSince(ctx context.Context, began time.Time, messages []Message, each func(piece string) error) (Reply, error) {
	caller := ctx
	ctx, cancel := context.WithDeadline(ctx, began.Add(c.Timeout))
	defer cancel()
	if n := InputOf(messages); n > c.InputTokens {
		return Reply{}, &Error{Refused, fmt.Errorf("the prompt has about %d tokens, and the limit is %d", n, c.InputTokens)}
	}
	waiting, stop := context.WithDeadline(ctx, began.Add(c.Patience()))
	err := c.slots.Acquire(waiting, 1)
	stop()
	if err != nil {
		if caller.Err() != nil {
			return Reply{}, caller.Err()
		}
		return Reply{}, &Error{Busy, fmt.Errorf("%d calls are running", c.AtOnce)}
	}
	defer c.slots.Release(1)
	done, err := c.breaker.Allow()
	if err != nil {
		return Reply{}, &Error{Unreachable, fmt.Errorf("it failed %d times in a row, and is tried again after %s", failures, pause)}
	}
	reply, err := c.stream(ctx, messages, each)
	if caller.Err() != nil && (err != nil || reply.Cut) {
		done(errLeft)
		return reply, caller.Err()
	}
	done(cmp.Or(err, reply.cause))
	return reply, err
}

// stream makes the call, after the breaker allowed it.
func (c *Client) stream(ctx context.Context, messages []Message, each func(string) error) (reply Reply, err error) {
	request := c.request(messages)
	stream, err := c.api.CreateChatCompletionStream(ctx, request)
	if err != nil {
		dial := (*net.OpError)(nil)
		if rejected := endpoint.StatusOf(err) > 0 || errors.As(err, &dial) && dial.Op == "dial"; !rejected {
			// Nothing is known about what the endpoint has used before the first byte.
			reply.Usage = c.priced(InputOf(messages), 0)
		}
		return reply, failure(ctx, err)
	}
	defer stream.Close()
	var text strings.Builder
	finish, reported := openai.FinishReason(""), (*openai.Usage)(nil)
	finished := func(err error) (Reply, error) {
		reply.Text = text.String()
		reply.Usage = c.priced(InputOf(messages), Tokens(reply.Text))
		if u := reported; u != nil && u.PromptTokens >= 0 && u.CompletionTokens >= 0 && u.PromptTokens < math.MaxInt32 && u.CompletionTokens < math.MaxInt32 {
			reply.Usage = c.priced(u.PromptTokens, u.CompletionTokens)
		}
		reply.Cut = err != nil || finish != openai.FinishReasonStop
		e := (*Error)(nil)
		switch {
		case errors.As(err, &e) && strings.TrimSpace(reply.Text) != "":
			reply.cause = err
			return reply, nil
		case err == nil && finish == openai.FinishReasonContentFilter:
			return reply, &Error{Refused, errors.New("the endpoint's filter stopped the reply")}
		case err == nil && strings.TrimSpace(reply.Text) == "":
			return reply, &Error{Unreadable, errors.New("the reply has no text")}
		}
		return reply, err
	}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			reply.lost = finish == ""
			return finished(nil)
		}
		if err != nil {
			return finished(failure(ctx, err))
		}
		if part.Usage != nil {
			reported = part.Usage
		}
		if len(part.Choices) == 0 {
			continue
		}
		choice := part.Choices[0]
		if choice.Delta.Refusal != "" {
			return finished(&Error{Refused, fmt.Errorf("the model refused: %.200q", choice.Delta.Refusal)})
		}
		if choice.FinishReason != "" {
			finish = choice.FinishReason
		}
		piece := choice.Delta.Content
		if piece == "" {
			continue // calls of tools among others, which are never followed
		}
		if over := text.Len() + len(piece) - maxText(c.OutputTokens); over > 0 {
			finish = openai.FinishReasonLength
			return finished(nil)
		}
		text.WriteString(piece)
		if err := each(piece); err != nil {
			return finished(err)
		}
	}
}

// request returns the request for messages. The endpoint is offered no tools.
func (c *Client) request(messages []Message) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{
		Model: c.Model, Stream: true, StreamOptions: &openai.StreamOptions{IncludeUsage: true},
		Temperature: endpoint.Zero,
	}
	//lint:ignore SA1019 most other servers with this API know only the older parameter
	r.MaxTokens = c.OutputTokens
	for _, m := range messages {
		r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: m.Role, Content: m.Content})
	}
	if openai.NewReasoningValidator().Validate(r) != nil {
		// Models that reason know neither parameter.
		//lint:ignore SA1019 it was set above
		r.MaxTokens = 0
		r.MaxCompletionTokens, r.Temperature = c.OutputTokens, 0
	}
	return r
}

// failure returns the *Error for an error of the API's client.
func failure(ctx context.Context, err error) error {
	var network net.Error
	status := endpoint.StatusOf(err)
	switch {
	case ctx.Err() != nil || errors.As(err, &network) && network.Timeout():
		return &Error{TimedOut, err}
	case status == http.StatusTooManyRequests:
		return &Error{Limited, err}
	case status > 0 && status < 500:
		return &Error{Refused, err}
	case errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Unreachable, err}
	}
	return &Error{Unreadable, err}
}

// maxText returns the maximum bytes of a reply's text, in case an endpoint ignores the limit
// of tokens.
func maxText(tokens int) int { return 16 * tokens }

// maxReply returns the maximum bytes of a reply. Each token may come in an event of its own.
func maxReply(tokens int) int64 { return 256<<10 + 1024*int64(tokens) }
