package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"annals/events/nearest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const settingPrefix = "ANNALS_"

// notSettings matches variables that are not settings but are no mistake either: those of
// tests, benchmarks and deploy/, and those that Kubernetes sets for a service named
// annals.
var notSettings = regexp.MustCompile(`^ANNALS_(TEST_.*|BENCH_.*|CRASH_.*|FAILPOINT|HOSTILE|SHOW_PDF|HOST|CONFIG|(.*_)?SERVICE_(HOST|PORT.*)|(.*_)?PORT_\d+_.*)$`)

// servicePort matches the form in which Kubernetes sets ANNALS_PORT, which is a URL. A
// number is a mistake of the user and is reported.
var servicePort = regexp.MustCompile(`^ANNALS_(.*_)?PORT=\w+://`)

// variableOf returns the environment variable of a flag.
func variableOf(flag string) string {
	return settingPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// isSetting reports whether the environment and the configuration file can set a flag.
func isSetting(f *pflag.Flag) bool {
	return f.Name != "config" && f.Name != "help" && len(f.Annotations[flagOnly]) == 0
}

// UnknownVariables returns a warning for each variable ANNALS_… in the environment that
// sets no flag of any command. Warnings do not contain values, which may be secrets.
func UnknownVariables(root *cobra.Command, environment []string) (warnings []string) {
	var given []string
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, settingPrefix) && !notSettings.MatchString(name) && !servicePort.MatchString(entry) {
			given = append(given, name)
		}
	}
	if len(given) == 0 {
		return nil
	}
	known, shown := settingNames(root)
	slices.Sort(given)
	for _, name := range given {
		if slices.ContainsFunc(known, func(flag string) bool { return variableOf(flag) == name }) {
			continue
		}
		hint := "annals serve --help lists the settings"
		if best, ok := nearest.Of(strings.TrimPrefix(name, settingPrefix), shown); ok {
			hint = "did you mean " + variableOf(best) + "?"
		}
		for flag, why := range removed {
			if variableOf(flag) == name {
				hint = why
			}
		}
		warnings = append(warnings, fmt.Sprintf("the environment variable %s is not a setting and has no effect: %s", nearest.Shortened(name), hint))
	}
	return warnings
}

// settingNames returns the names of all settings of the commands below root. shown lacks
// hidden ones, which no error may suggest.
func settingNames(root *cobra.Command) (known, shown []string) {
	note := func(f *pflag.Flag) {
		if isSetting(f) {
			known = append(known, f.Name)
			if !f.Hidden {
				shown = append(shown, f.Name)
			}
		}
	}
	root.PersistentFlags().VisitAll(note)
	for _, command := range root.Commands() {
		command.Flags().VisitAll(note)
		command.PersistentFlags().VisitAll(note)
		for _, below := range command.Commands() {
			if below.Annotations[OfServe] != "" {
				below.Flags().VisitAll(note)
			}
		}
	}
	return known, shown
}
