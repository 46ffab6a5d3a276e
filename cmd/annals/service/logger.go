package service

import (
	"fmt"
	"io"
	"log/slog"

	"annals/events/disk"
	"annals/events/fault"
)

// NewLogger returns a logger with a level (debug, info, warn or error) and a format (text
// or json) that writes to w. It logs errors with their causes, which clients do not see.
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

// withCauses logs errors with their causes.
func withCauses(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(fault.Detail(err))
	}
	return a
}
