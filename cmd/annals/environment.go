package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"annals/events/nearest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const settingPrefix = "ANNALS_"

// notSettings are variables that others read, or set beside the program: its
// tests and benchmarks, deploy/, and Kubernetes for a service that is called
// annals.
var notSettings = regexp.MustCompile(`^ANNALS_(TEST_.*|BENCH_.*|CRASH_.*|FAILPOINT|HOSTILE|SHOW_PDF|HOST|CONFIG|(.*_)?SERVICE_(HOST|PORT.*)|(.*_)?PORT_\d+_.*)$`)

// servicePort is what Kubernetes sets ANNALS_PORT to, which people set to a
// number, in vain.
var servicePort = regexp.MustCompile(`^ANNALS_(.*_)?PORT=\w+://`)

// variableOf returns the environment variable of a flag.
func variableOf(flag string) string {
	return settingPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// isSetting reports whether a flag is set by the environment, too.
func isSetting(f *pflag.Flag) bool {
	return f.Name != "config" && f.Name != "help" && len(f.Annotations[byFlagAlone]) == 0
}

// unknownVariables returns a sentence for each ANNALS_… of an environment that
// no command reads. It repeats no values, which may be secrets.
func unknownVariables(root *cobra.Command, environment []string) (told []string) {
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
			if below.Annotations[takesSettings] != "" {
				below.Flags().VisitAll(note)
			}
		}
	}
	slices.Sort(given)
	for _, name := range given {
		if slices.ContainsFunc(known, func(flag string) bool { return variableOf(flag) == name }) {
			continue
		}
		hint := "annals serve --help lists the settings"
		if best, ok := nearest.Of(strings.TrimPrefix(name, settingPrefix), shown); ok {
			hint = "did you mean " + variableOf(best) + "?"
		}
		told = append(told, fmt.Sprintf("the environment variable %s is no setting and has no effect: %s", nearest.Shortened(name), hint))
	}
	return told
}

// warnOfVariables prints what unknownVariables found.
func warnOfVariables(out io.Writer, root *cobra.Command, environment []string) {
	for _, sentence := range unknownVariables(root, environment) {
		fmt.Fprintln(out, "annals: warning:", sentence)
	}
}
