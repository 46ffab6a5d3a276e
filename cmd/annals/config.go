package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// byFlagAlone marks flags that say what is to be done now: they are no
// settings, which would do it at every call.
const byFlagAlone = "by flag alone"

// takesSettings marks those commands below another whose flags are settings of
// serve.
const takesSettings = "takes settings"

// markByFlagAlone marks flags of that kind, which must be there.
func markByFlagAlone(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, byFlagAlone, []string{"true"}); err != nil {
			panic(err)
		}
	}
}

// configure sets every flag that was not given from the environment or else
// from the file that --config names.
func configure(flags *pflag.FlagSet) error {
	path, _ := flags.GetString("config")
	if path == "" {
		path = os.Getenv("ANNALS_CONFIG")
	}
	file, err := readConfig(path)
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

// values is one setting of a configuration file: one value or a list of them.
type values []string

// UnmarshalYAML reads a scalar as a list of one.
func (v *values) UnmarshalYAML(node *yaml.Node) error {
	switch node.Kind {
	case yaml.ScalarNode:
		*v = values{node.Value}
	case yaml.SequenceNode:
		for _, n := range node.Content {
			if n.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: a list holds plain values", n.Line)
			}
			*v = append(*v, n.Value)
		}
	default:
		return fmt.Errorf("line %d: a setting is a value or a list of values", node.Line)
	}
	return nil
}

// readConfig reads a file of settings by flag name. One file serves all
// commands, so that a name may be another command's flag.
func readConfig(path string) (map[string]values, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	var file map[string]values
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read the configuration %s: %w", path, err)
	}
	known := make(map[string]bool)
	for _, command := range append(rootCommand().Commands(), rootCommand()) {
		command.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		command.PersistentFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	}
	for name := range file {
		if !known[name] {
			return nil, fmt.Errorf("the configuration %s sets %q, which no command knows", path, name)
		}
	}
	return file, nil
}
