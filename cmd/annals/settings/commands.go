package settings

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// RejectUnknownCommands makes help, and all commands that only group subcommands,
// return an error for an unknown subcommand. By default cobra does so only for the root
// command; the other commands print their help and succeed.
func RejectUnknownCommands(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			visit(below)
		}
		if c.HasParent() && c.Parent().Name() == "completion" {
			c.Args = Arguments // cobra's own error calls the argument an unknown command
		}
		if c != root && !c.Runnable() && c.HasSubCommands() {
			c.Args = func(c *cobra.Command, args []string) error {
				if len(args) == 0 {
					return pflag.ErrHelp
				}
				return unknownSubcommand(c, args[0])
			}
			c.Run = func(*cobra.Command, []string) {} // never called; cobra checks Args only if Run is set
			c.DisableFlagsInUseLine = true
		}
		if c.Parent() == root && c.Name() == "help" {
			c.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 && found.HasSubCommands() {
					return unknownSubcommand(found, rest[0])
				}
				return err
			}
		}
	}
	visit(root)
}

// unknownSubcommand returns the error for a name that is not a subcommand of c.
func unknownSubcommand(c *cobra.Command, name string) error {
	return fmt.Errorf("unknown command %.80q for %q: %[2]s --help lists its commands%[3]s", name, c.CommandPath(), Suggest(c, name))
}

// Suggest returns "; did you mean …?" with the subcommands of c that have a similar name,
// or "" if there are none.
func Suggest(c *cobra.Command, name string) string {
	const distance = 2 // maximum edit distance; cobra has the same for the root command
	c.SuggestionsMinimumDistance = distance
	like := c.SuggestionsFor(name)
	if len(like) == 0 {
		return ""
	}
	for i := range like {
		like[i] = c.CommandPath() + " " + like[i]
	}
	return "; did you mean " + strings.Join(like, " or ") + "?"
}
