package settings

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Arguments returns an error unless args match the Use line of c. There, NAME is a
// required argument, [NAME] an optional argument, and NAME... or [NAME...] an argument
// that may be repeated. A flag with its value, such as --to URL, is not an argument.
func Arguments(c *cobra.Command, args []string) error {
	words := strings.Fields(c.Use)[1:]
	usage := strings.Join(append([]string{c.CommandPath()}, words...), " ")
	limit, repeated := 0, false
	for i := 0; i < len(words); i++ {
		name := words[i]
		if strings.HasPrefix(name, "--") {
			i++ // skip the value of the flag
			continue
		}
		if limit++; limit > len(args) && !strings.HasPrefix(name, "[") {
			name = strings.ReplaceAll(strings.TrimSuffix(name, "..."), "|", " or ")
			return fmt.Errorf("%s is missing: %s", name, usage)
		}
		repeated = strings.HasSuffix(strings.TrimSuffix(name, "]"), "...")
	}
	switch {
	case len(args) <= limit || repeated:
		return nil
	case limit == 0:
		return fmt.Errorf("%s takes no arguments: got %.80q", c.CommandPath(), args[0])
	}
	return fmt.Errorf("unexpected argument %.80q: %s%s", args[limit], usage, Suggest(c, args[0]))
}
