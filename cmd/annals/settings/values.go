package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"annals/commands/quota"
	"annals/queries/accesslog"

	"github.com/spf13/pflag"
)

// Days returns a flag value for a duration that may be written in days, such as 90d.
func Days(to *time.Duration) pflag.Value { return (*days)(to) }

type days time.Duration

func (d *days) String() string {
	if h := time.Duration(*d); h > 0 && h%(24*time.Hour) == 0 {
		return strconv.Itoa(int(h/(24*time.Hour))) + "d"
	}
	return time.Duration(*d).String()
}

func (d *days) Type() string { return "duration" }

func (d *days) Set(text string) error {
	if n, ok := strings.CutSuffix(text, "d"); ok {
		if count, err := strconv.Atoi(n); err == nil && count >= 0 && count <= 36500 {
			*d = days(time.Duration(count) * 24 * time.Hour)
			return nil
		}
	} else if parsed, err := time.ParseDuration(text); err == nil && parsed >= 0 {
		*d = days(parsed)
		return nil
	}
	return fmt.Errorf("%q is not a duration: write it as 90d or 12h", text)
}

// Limit returns a flag value for a limit. Depending on kind, the value is a size, a
// duration or a number.
func Limit(kind quota.Kind, to *int64) pflag.Value { return limit{kind, to} }

type limit struct {
	kind quota.Kind
	to   *int64
}

func (v limit) String() string {
	if v.to == nil {
		return ""
	}
	return v.kind.ShowLimit(*v.to)
}

func (v limit) Set(text string) (err error) {
	*v.to, err = quota.Parse(v.kind, text)
	return err
}

func (v limit) Type() string {
	switch v.kind {
	case quota.Bytes, quota.Changed:
		return "size"
	case quota.Search:
		return "duration"
	}
	return "int"
}

// Reads returns a flag value for the kinds of reads that the access log records. text
// is the default as the help shows it.
func Reads(text string, to *accesslog.Reads) pflag.Value { return &reads{text, to} }

type reads struct {
	text string
	to   *accesslog.Reads
}

func (v *reads) String() string { return v.text }
func (v *reads) Type() string   { return "reads" }

func (v *reads) Set(text string) (err error) {
	if *v.to, err = accesslog.ParseReads(text); err == nil {
		v.text = text
	}
	return err
}
