package main

import (
	"slices"
	"strings"
	"testing"

	"annals/cmd/annals/settings"

	"github.com/spf13/pflag"
)

func TestUnknownVariables(t *testing.T) {
	for name, want := range map[string]string{
		"ANNALS_READ_MODEL=secret":                  "did you mean ANNALS_READ_MODELS?",
		"ANNALS_LISTEN_ADDRESS=secret":              "did you mean ANNALS_LISTEN?",
		"ANNALS_READ_REPLICA=postgres://secret":     "read replicas are no longer supported; remove it",
		"ANNALS_QUOTA_FOLDER=1":                     "did you mean ANNALS_QUOTA_FOLDERS?",
		"ANNALS_PORT=9000":                          "annals serve --help lists the settings",
		"ANNALS_ZZZ=1":                              "annals serve --help lists the settings",
		"ANNALS_DECLINE=Reports":                    "", // --decline has no environment variable
		"ANNALS_TOKEN=a":                            "known",
		"ANNALS_CONFIG=a":                           "known",
		"ANNALS_PPROF=a":                            "known",
		"ANNALS_TEST_POSTGRES=a":                    "known",
		"ANNALS_CRASH_ROUNDS=1":                     "known",
		"ANNALS_PORT=tcp://10.0.0.1:8080":           "known",
		"ANNALS_PORT_8080_TCP_ADDR=10.0.0.1":        "known",
		"ANNALS_SERVICE_HOST=10.0.0.1":              "known",
		"ANNALS_METRICS_SERVICE_PORT_HTTP=10.0.0.1": "known",
		"ANNALSX=1":                                 "known", "PATH=ANNALS_X": "known",
	} {
		warnings := settings.UnknownVariables(rootCommand(), []string{name})
		switch {
		case want == "known" && len(warnings) > 0:
			t.Errorf("UnknownVariables of %s: got %q, want none", name, warnings)
		case want != "known" && (len(warnings) != 1 || !strings.Contains(warnings[0], strings.Split(name, "=")[0]) || !strings.HasSuffix(warnings[0], want) || strings.Contains(warnings[0], "secret")):
			t.Errorf("UnknownVariables of %s: got %q, want %q", name, warnings, want)
		}
	}
}

// Every flag has a known environment variable, unless it can be set only on the command
// line.
func TestFlagVariablesAreKnown(t *testing.T) {
	var environment, unknown []string
	for _, command := range rootCommand().Commands() {
		command.Flags().VisitAll(func(f *pflag.Flag) {
			variable := "ANNALS_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) + "=1"
			if _, onlyFlag := f.Annotations["flag only"]; onlyFlag {
				unknown = append(unknown, variable)
			} else {
				environment = append(environment, variable)
			}
		})
	}
	if warnings := settings.UnknownVariables(rootCommand(), environment); len(warnings) > 0 || !slices.Contains(environment, "ANNALS_LISTEN=1") {
		t.Errorf("UnknownVariables of %d settings: got %q, want none", len(environment), warnings)
	}
	if len(unknown) == 0 {
		t.Error("no flag is set only on the command line")
	}
}
