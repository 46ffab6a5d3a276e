package settings_test

import (
	"testing"
	"time"

	"annals/cmd/annals/settings"
	"annals/queries/accesslog"

	"github.com/spf13/pflag"
)

func TestAccessLogValues(t *testing.T) {
	for _, test := range []struct {
		args      []string
		reads     accesslog.Reads
		retention time.Duration
		invalid   bool
	}{
		{nil, accesslog.Reads{}, 90 * 24 * time.Hour, false},
		{[]string{"--reads", "none", "--retention", "7d"}, accesslog.Reads{None: true}, 7 * 24 * time.Hour, false},
		{[]string{"--reads", "sample:10", "--retention", "36h"}, accesslog.Reads{Every: 10}, 36 * time.Hour, false},
		{[]string{"--reads", "all", "--retention", "0"}, accesslog.Reads{Every: 1}, 0, false},
		{[]string{"--reads", "some"}, accesslog.Reads{}, 0, true},
		{[]string{"--reads", "sample:0"}, accesslog.Reads{}, 0, true},
		{[]string{"--retention", "-1h"}, accesslog.Reads{}, 0, true},
		{[]string{"--retention", "90"}, accesslog.Reads{}, 0, true},
	} {
		var reads accesslog.Reads
		retention := 90 * 24 * time.Hour
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		flags.Var(settings.Reads("admins", &reads), "reads", "")
		flags.Var(settings.Days(&retention), "retention", "")
		err := flags.Parse(test.args)
		if (err != nil) != test.invalid || err == nil && (reads != test.reads || retention != test.retention) {
			t.Errorf("%v = %+v for %v, %v", test.args, reads, retention, err)
		}
	}
}
