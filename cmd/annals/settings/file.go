// Package settings sets flags from the environment and from the file of --config,
// reports unknown names, and defines the flag values that several commands share. It
// knows only the root command, and may import only the types that flags are parsed
// into.
package settings

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// flagOnly is the annotation of flags that FlagOnly marks.
const flagOnly = "flag only"

// OfServe is the annotation of a subcommand whose flags are settings of serve.
// The flags of other subcommands are set on the command line only.
const OfServe = "settings of serve"

// FlagOnly marks flags that request an action: the environment and the
// configuration file do not set them, or every call would carry it out. It
// panics if a flag is not defined.
func FlagOnly(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, flagOnly, []string{"true"}); err != nil {
			panic(err)
		}
	}
}

// Apply sets every flag of cmd that is missing on the command line from the
// environment, or else from the file of --config. It sets a subcommand's own flags,
// such as --admin of user add, only if the command is marked OfServe.
func Apply(cmd *cobra.Command) error {
	flags := cmd.Flags()
	if cmd.HasParent() && cmd.Parent() != cmd.Root() && cmd.Annotations[OfServe] == "" {
		flags = cmd.InheritedFlags()
	}
	path, _ := flags.GetString("config")
	if path == "" {
		path = os.Getenv("ANNALS_CONFIG")
	}
	file, err := ReadFile(cmd.Root(), path)
	if err != nil {
		return err
	}
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || failed != nil || !IsSetting(f) {
			return
		}
		variable := Variable(f.Name)
		if value, ok := os.LookupEnv(variable); ok {
			if err := flags.Set(f.Name, value); err != nil {
				failed = fmt.Errorf("environment variable %s: %w", variable, err)
			}
			return
		}
		for _, value := range file[f.Name] {
			if err := flags.Set(f.Name, value); err != nil {
				failed = fmt.Errorf("%s in %s: %w", f.Name, path, err)
			}
		}
	})
	return failed
}

// Values is one setting of a configuration file: a value, or a list of values.
type Values []string

// UnmarshalYAML reads a scalar as a list of one.
func (v *Values) UnmarshalYAML(node *yaml.Node) error {
	switch node.Kind {
	case yaml.ScalarNode:
		*v = Values{node.Value}
	case yaml.SequenceNode:
		for _, n := range node.Content {
			if n.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: a list may hold only plain values", n.Line)
			}
			*v = append(*v, n.Value)
		}
	default:
		return fmt.Errorf("line %d: a setting must be a value or a list of values", node.Line)
	}
	return nil
}

// ReadFile reads the settings of a configuration file by flag name. All commands
// below root share one file, so each of their flags is accepted in it; any other
// name is an error. An empty path is an empty file.
func ReadFile(root *cobra.Command, path string) (map[string]Values, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	var file map[string]Values
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read the configuration %s: %w", path, err)
	}
	known := make(map[string]bool)
	for _, command := range append(root.Commands(), root) {
		command.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		command.PersistentFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	}
	for name := range file {
		if !known[name] {
			return nil, fmt.Errorf("the configuration %s sets %q, but no command has this flag: annals serve --help lists the settings", path, name)
		}
	}
	return file, nil
}
