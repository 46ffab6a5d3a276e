package service

import (
	"fmt"
	"io"
	"log/slog"

	"annals/events/disk"
	"annals/events/fault"
)

// NewLogger returns a logger that writes to w. logLevel is debug, info, warn or error;
// logFormat is text or json. The logger writes errors with their causes, which replies
// to clients leave out.
func NewLogger(logLevel, logFormat string, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %s: must be debug, info, warn or error", logLevel)
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withCauses}
	switch logFormat {
	case "text":
		return slog.New(disk.Quiet(slog.NewTextHandler(w, options))), nil
	case "json":
		return slog.New(disk.Quiet(slog.NewJSONHandler(w, options))), nil
	}
	return nil, fmt.Errorf("--log-format %s: must be text or json", logFormat)
}

// withCauses replaces an error by its text with all causes.
func withCauses(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(fault.Detail(err))
	}
	return a
}
