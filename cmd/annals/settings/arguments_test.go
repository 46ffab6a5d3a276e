package settings_test

import (
	"strings"
	"testing"

	"annals/cmd/annals/settings"

	"github.com/spf13/cobra"
)

func TestArgumentsMatchUseLine(t *testing.T) {
	for _, c := range []struct{ use, args, want string }{
		{"run", "", ""},
		{"run", "extra", `annals run takes no arguments: got "extra"`},
		{"run --to URL", "", ""},
		{"run --to URL", "extra", `annals run takes no arguments: got "extra"`},
		{"run DIR|s3://BUCKET", "", "DIR or s3://BUCKET is missing: annals run DIR|s3://BUCKET"},
		{"run DIR|s3://BUCKET", "a", ""},
		{"run DIR", "a b", `unexpected argument "b": annals run DIR`},
		{"run NAME on|off", "bob", "on or off is missing: annals run NAME on|off"},
		{"run NAME on|off", "", "NAME is missing: annals run NAME on|off"},
		{"run NAME [on|off]", "bob", ""},
		{"run NAME [on|off]", "bob on", ""},
		{"run NAME [on|off]", "bob on now", `unexpected argument "now": annals run NAME [on|off]`},
		{"run [NAME]", "", ""},
		{"run ID...", "", "ID is missing: annals run ID..."},
		{"run ID...", "a b c", ""},
		{"run NAME [GROUP...]", "bob", ""},
		{"run NAME [GROUP...]", "bob a b", ""},
	} {
		root, command := &cobra.Command{Use: "annals"}, &cobra.Command{Use: c.use}
		root.AddCommand(command)
		got := ""
		if err := settings.Arguments(command, strings.Fields(c.args)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Arguments of %q with %q: got %q, want %q", c.use, c.args, got, c.want)
		}
	}
}
