// Package settings sets flags from the environment and from the configuration file
// (--config), reports unknown settings, and defines flag values that several commands
// share. It works with any cobra command. Of this module it may import only the types
// of flag values.
package settings

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"annals/events/nearest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// flagOnly is the annotation that FlagOnly sets.
const flagOnly = "flag only"

// OfServe is an annotation of a subcommand that shares flags with serve. The
// environment and the configuration file set the flags of such a subcommand; flags of
// other subcommands can be set only on the command line.
const OfServe = "settings of serve"

// FlagOnly marks flags that request an action, such as --decline. They can be set only
// on the command line: in the environment or the configuration file they would repeat
// the action with every call. FlagOnly panics if a flag is not defined.
func FlagOnly(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, flagOnly, []string{"true"}); err != nil {
			panic(err)
		}
	}
}

// Apply sets flags of cmd that are not on the command line: from the environment, or
// else from the configuration file. If cmd is a subcommand, such as user add, Apply
// sets only inherited flags, unless cmd has the annotation OfServe.
func Apply(cmd *cobra.Command) error {
	flags := cmd.Flags()
	if cmd.HasParent() && cmd.Parent() != cmd.Root() && cmd.Annotations[OfServe] == "" {
		flags = cmd.InheritedFlags()
	}
	path, _ := flags.GetString("config")
	if path == "" {
		path = os.Getenv("ANNALS_CONFIG")
	}
	file, err := readFile(cmd.Root(), path)
	if err != nil {
		return err
	}
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || failed != nil || !isSetting(f) {
			return
		}
		variable := variableOf(f.Name)
		if value, ok := os.LookupEnv(variable); ok {
			if err := flags.Set(f.Name, value); err != nil {
				failed = fmt.Errorf("read the environment variable %s: %w", variable, err)
			}
			return
		}
		for _, value := range file[f.Name] {
			if err := flags.Set(f.Name, value); err != nil {
				failed = fmt.Errorf("read %s in the configuration file %s: %w", f.Name, path, err)
			}
		}
	})
	return failed
}

// values is one setting in a configuration file: a value, or a list of values.
type values []string

// UnmarshalYAML decodes a scalar as a list of one value.
func (v *values) UnmarshalYAML(node *yaml.Node) error {
	switch node.Kind {
	case yaml.ScalarNode:
		*v = values{node.Value}
	case yaml.SequenceNode:
		for _, n := range node.Content {
			if n.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: a list may contain only plain values", n.Line)
			}
			*v = append(*v, n.Value)
		}
	default:
		return fmt.Errorf("line %d: a setting must be a value or a list of values", node.Line)
	}
	return nil
}

// readFile reads a configuration file and returns its settings by flag name. Because
// all commands use the same file, it may set the flags of every command below root; a
// name that is no such flag is an error. If path is "", there are no settings.
func readFile(root *cobra.Command, path string) (map[string]values, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration file: %w", err)
	}
	var file map[string]values
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read the configuration file %s: %w", path, err)
	}
	known := make(map[string]bool)
	for _, command := range append(root.Commands(), root) {
		command.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		command.PersistentFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	}
	for _, name := range slices.Sorted(maps.Keys(file)) {
		if known[name] {
			continue
		}
		if why, ok := removed[name]; ok {
			return nil, fmt.Errorf("the configuration file %s sets %q, which was removed: %s", path, name, why)
		}
		hint := "annals serve --help lists the settings"
		_, shown := settingNames(root)
		if best, ok := nearest.Of(name, shown); ok {
			hint = "did you mean " + best + "?"
		}
		return nil, fmt.Errorf("the configuration file %s sets %q, but no command has this flag: %s", path, nearest.Shortened(name), hint)
	}
	return file, nil
}
