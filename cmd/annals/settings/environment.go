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

// notSettings matches variables that do not set flags: those of tests, benchmarks and
// deploy/, and those that Kubernetes sets for a service named annals.
var notSettings = regexp.MustCompile(`^ANNALS_(TEST_.*|BENCH_.*|CRASH_.*|FAILPOINT|HOSTILE|SHOW_PDF|HOST|CONFIG|(.*_)?SERVICE_(HOST|PORT.*)|(.*_)?PORT_\d+_.*)$`)

// servicePort matches the value that Kubernetes gives ANNALS_PORT. A number was set by a
// person by mistake, and is reported.
var servicePort = regexp.MustCompile(`^ANNALS_(.*_)?PORT=\w+://`)

// removed says of variables of earlier versions why they have no effect. The nearest
// setting would mislead.
var removed = map[string]string{
	"ANNALS_READ_REPLICA": "replicas are not read any more; remove it",
}

// Variable returns the environment variable of a flag.
func Variable(flag string) string {
	return settingPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// IsSetting reports whether the environment and the configuration file set a flag.
func IsSetting(f *pflag.Flag) bool {
	return f.Name != "config" && f.Name != "help" && len(f.Annotations[flagOnly]) == 0
}

// UnknownVariables returns a warning for each variable ANNALS_… of an environment
// that sets no flag of a command below root. Warnings do not contain values,
// which may be secrets.
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
	var known, shown []string
	note := func(f *pflag.Flag) {
		if IsSetting(f) {
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
	slices.Sort(given)
	for _, name := range given {
		if slices.ContainsFunc(known, func(flag string) bool { return Variable(flag) == name }) {
			continue
		}
		hint := "annals serve --help lists the settings"
		if why, ok := removed[name]; ok {
			hint = why
		} else if best, ok := nearest.Of(strings.TrimPrefix(name, settingPrefix), shown); ok {
			hint = "did you mean " + Variable(best) + "?"
		}
		warnings = append(warnings, fmt.Sprintf("the environment variable %s is not a setting and has no effect: %s", nearest.Shortened(name), hint))
	}
	return warnings
}
