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

// notSettings matches environment variables that begin with ANNALS_ and are no
// settings of flags: keys, those of tests, benchmarks and deploy/, and those that Kubernetes sets for
// a service named annals. They are not reported as unknown.
var notSettings = regexp.MustCompile(`^ANNALS_(TEST_.*|BENCH_.*|CRASH_.*|FAILPOINT|HOSTILE|SHOW_PDF|HOST|CONFIG|ANSWERS_KEY|EMBEDDINGS_KEY|(.*_)?SERVICE_(HOST|PORT.*)|(.*_)?PORT_\d+_.*)$`)

// servicePort matches ANNALS_PORT if Kubernetes has set it, because its value is then a
// URL. A number comes from a user who takes it for a setting, and is reported.
var servicePort = regexp.MustCompile(`^ANNALS_(.*_)?PORT=\w+://`)

// variableOf returns the environment variable of a flag.
func variableOf(flag string) string {
	return settingPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// isSetting reports whether a flag can also be set in the environment and in the
// configuration file.
func isSetting(f *pflag.Flag) bool {
	return f.Name != "config" && f.Name != "help" && len(f.Annotations[flagOnly]) == 0
}

// UnknownVariables returns a warning for each environment variable that begins with
// ANNALS_ and sets no flag of any command. Warnings do not contain values, because a
// value may be a secret.
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

// settingNames returns the names of all settings of the commands below root. shown
// leaves out hidden flags, which errors must not suggest.
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
