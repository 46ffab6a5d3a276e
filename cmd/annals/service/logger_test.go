package service_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"annals/cmd/annals/service"
	"annals/events/fault"
)

func TestLoggerWritesHiddenCauses(t *testing.T) {
	hidden := fault.Hide(fault.Unavailable, "the log cannot be written", errors.New("/srv/log.db: disk full"))
	for _, format := range []string{"text", "json"} {
		var out strings.Builder
		logger, err := service.NewLogger("info", format, &out)
		if err != nil {
			t.Fatal(err)
		}
		logger.Error("failed", "error", fmt.Errorf("append: %w", hidden))
		if want := "append: the log cannot be written: /srv/log.db: disk full"; !strings.Contains(out.String(), want) {
			t.Errorf("%s log: %s, want %q in it", format, out.String(), want)
		}
	}
}
