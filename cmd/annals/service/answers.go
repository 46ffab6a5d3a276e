package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"annals/cmd/annals/settings"
	"annals/commands/quota"
	"annals/endpoint/llm"
	"annals/events"
	"annals/queries/answerlog"
	"annals/queries/compose"
	"annals/queries/describe"

	"github.com/google/uuid"
	"github.com/spf13/pflag"
)

// Answers says which language model writes answers, and what it may use. Without a URL, answers are quotations.
type Answers struct {
	llm.Options
	answerlog.Limits
	Summaries bool          // the model also describes documents in summaries of folders
	Retention time.Duration // of the records of answers
	Bytes     int64         // of these records
}

// AnswersKey is the environment variable with the key of the language model. A flag would show the key in the list of processes.
const AnswersKey = "ANNALS_ANSWERS_KEY"

// bind defines the flags.
func (a *Answers) bind(flags *pflag.FlagSet) {
	flags.StringVar(&a.URL, "answers", "", "URL of an endpoint with the API of OpenAI, such as https://api.openai.com/v1, whose language model writes answers from the passages that were found; its key is read from "+AnswersKey+" (default: answers quote the passages)")
	flags.StringVar(&a.Model, "answers-model", "", "name of the language model at --answers")
	flags.BoolVar(&a.Summaries, "answers-summaries", false, "let the language model also describe the documents in summaries of folders, after they were asked for; the beginning of each document is sent to it")
	flags.DurationVar(&a.Timeout, "answers-timeout", 30*time.Second, "maximum time for the language model to write an answer, from 1s to 10m; then the passages are quoted")
	flags.IntVar(&a.InputTokens, "answers-input-tokens", 6000, "maximum number of tokens of a prompt, estimated; fewer passages are sent if they are longer")
	flags.IntVar(&a.OutputTokens, "answers-output-tokens", 800, "maximum number of tokens of the language model's reply")
	flags.IntVar(&a.AtOnce, "answers-at-once", 4, "maximum number of answers that the language model writes at the same time; one user has at most half of them")
	flags.Float64Var(&a.InputPrice, "answers-input-price", 0, "price of a million tokens of prompts, in any currency, for the metrics and the limits of the cost")
	flags.Float64Var(&a.OutputPrice, "answers-output-price", 0, "price of a million tokens of replies, in the same currency")
	flags.Int64Var(&a.Tokens, "answers-day-tokens", 5_000_000, "maximum number of tokens that the language model uses on a day, in UTC; 0 means no limit")
	flags.Int64Var(&a.UserTokens, "answers-user-day-tokens", 500_000, "maximum number of tokens that the language model uses for one user on a day; 0 means no limit")
	flags.Float64Var(&a.Cost, "answers-day-cost", 0, "maximum cost of the language model on a day, in the currency of the prices; 0 means no limit")
	flags.Float64Var(&a.UserCost, "answers-user-day-cost", 0, "maximum cost of the language model for one user on a day; 0 means no limit")
	a.Retention, a.Bytes = 30*24*time.Hour, 256<<20
	flags.Var(settings.Days(&a.Retention), "answers-retention", "how long the prompt, passages and reply of each answer of the language model are kept, such as 30d or 12h; 0 means forever")
	flags.Var(settings.Limit(quota.Bytes, &a.Bytes), "answers-bytes", "maximum size of these records, such as 1GiB; the oldest are deleted beyond it; 0 means no limit")
}

func (a *Answers) check() error {
	if a.URL == "" {
		if a.Model != "" {
			return errors.New("--answers-model has no effect without --answers: pass the URL of the endpoint")
		}
		return nil
	}
	if a.Model == "" {
		return errors.New("--answers needs --answers-model: pass the name of a model at that endpoint")
	}
	if _, err := llm.New(a.Options); err != nil {
		return fmt.Errorf("--answers: %w", err)
	}
	if a.Timeout < time.Second || a.Timeout > 10*time.Minute {
		return errors.New("--answers-timeout must be from 1s to 10m")
	}
	for _, s := range []struct {
		flag            string
		value, min, max float64
	}{
		{"answers-input-tokens", float64(a.InputTokens), 1000, 1_000_000},
		{"answers-output-tokens", float64(a.OutputTokens), 50, 100_000},
		{"answers-at-once", float64(a.AtOnce), 1, 1024},
		{"answers-day-tokens", float64(a.Tokens), 0, math.MaxInt64},
		{"answers-user-day-tokens", float64(a.UserTokens), 0, math.MaxInt64},
		{"answers-day-cost", a.Cost, 0, 1e6},
		{"answers-user-day-cost", a.UserCost, 0, 1e6},
		{"answers-input-price", a.InputPrice, 0, 1e6},
		{"answers-output-price", a.OutputPrice, 0, 1e6},
	} {
		if !(s.value >= s.min && s.value <= s.max) { // also if it is NaN
			return fmt.Errorf("--%s must be from %.0f to %.0f", s.flag, s.min, s.max)
		}
	}
	if (a.Cost > 0 || a.UserCost > 0) && a.InputPrice == 0 && a.OutputPrice == 0 {
		return errors.New("a limit of the cost needs --answers-input-price and --answers-output-price")
	}
	return nil
}

// openAnswers lets the language model write answers, if there is one. What it wrote before is
// kept, swept and shown also without it.
func (s *service) openAnswers(ctx context.Context) (err error) {
	a := s.config.Answers
	records := answerlog.Options{Limits: a.Limits, Retention: a.Retention, Bytes: a.Bytes, Logger: s.logger}
	if s.answers, err = s.config.OpenAnswerLog(ctx, records, a.URL != ""); err != nil {
		return err
	}
	if s.answers != nil {
		s.closing(s.answers.Close)
		s.queries.Answers = s.answers
	}
	if s.descriptions, err = s.config.OpenDescriptions(ctx, a.URL != "" && a.Summaries); err != nil {
		return err
	}
	if s.descriptions != nil {
		s.closing(s.descriptions.Close)
	}
	if a.URL == "" {
		return nil
	}
	a.Key = os.Getenv(AnswersKey)
	model, err := llm.New(a.Options)
	if err != nil {
		return fmt.Errorf("--answers: %w", err)
	}
	var outcomes []string
	for _, o := range compose.Outcomes() {
		outcomes = append(outcomes, string(o))
	}
	composed, described := s.metrics.Answers(outcomes, string(describe.Directing))
	s.queries.Composer = &compose.Composer{
		Model: model, Budget: s.answers, Logger: s.logger,
		Observe: func(c compose.Composition) {
			composed(string(c.Outcome), c.Usage.Input, c.Usage.Output, c.Usage.Cost, c.Dropped, c.Took)
		},
	}
	if !a.Summaries {
		return nil
	}
	s.queries.Describer = &describe.Describer{
		Model: model, Store: s.descriptions, Budget: s.answers, Logger: s.logger,
		Text: func(ctx context.Context, user events.User, document uuid.UUID, limit int) (string, error) {
			page, err := s.queries.MarkdownPage(ctx, user, document, 0, limit)
			_, text, found := strings.Cut(page.Text, "\n---\n") // the front matter has the title, which may be a name that others may not read
			if !found {
				text = page.Text
			}
			return text, err
		},
		Observe: func(outcome string, used llm.Usage) { described(outcome, used.Input, used.Output, used.Cost) },
	}
	return nil
}

// sweepAnswers deletes records of answers that are too old, and what was written about documents that were deleted.
func (s *service) sweepAnswers(ctx context.Context) (err error) {
	if s.descriptions != nil {
		err = s.descriptions.Sweep(ctx, s.queries.Refers)
	}
	if s.answers == nil {
		return err
	}
	return errors.Join(err, s.answers.Sweep(ctx, func(ctx context.Context, documents []string) (map[string]bool, error) {
		things := make([]string, len(documents))
		for i, d := range documents {
			things[i] = "document-" + d
		}
		found, err := s.queries.Find(ctx, things)
		exist := make(map[string]bool, len(found))
		for i, d := range documents {
			_, exist[d] = found[things[i]]
		}
		return exist, err
	}))
}
