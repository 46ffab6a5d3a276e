package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// reportUnknown makes the commands below root that only group others, and the
// help command, fail on a name that is none of theirs. Cobra does so for the
// root alone, and prints help for the rest, with exit code 0.
func reportUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			visit(below)
		}
		if c != root && !c.Runnable() && c.HasSubCommands() {
			c.Args = func(c *cobra.Command, args []string) error {
				if len(args) == 0 {
					return pflag.ErrHelp
				}
				return unknownBelow(c, args[0])
			}
			c.Run = func(*cobra.Command, []string) {} // Args lets nothing pass, and is asked of what runs alone
			c.DisableFlagsInUseLine = true
		}
		if c.Parent() == root && c.Name() == "help" {
			c.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 && found.HasSubCommands() {
					return unknownBelow(found, rest[0])
				}
				return err
			}
		}
	}
	visit(root)
}

// unknownBelow says that a command has none of a name below it, and which are
// like it.
func unknownBelow(c *cobra.Command, name string) error {
	return fmt.Errorf("unknown command %.80q for %q: %[2]s --help lists its commands%[3]s", name, c.CommandPath(), didYouMean(c, name))
}

// didYouMean asks for the commands below c that have names like one, if any.
func didYouMean(c *cobra.Command, name string) string {
	const distance = 2 // cobra's own, of letters that differ
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
