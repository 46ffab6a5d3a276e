package main

import (
	"slices"
	"strings"
	"testing"
)

func TestUnknownVariablesAreReported(t *testing.T) {
	for name, want := range map[string]string{
		"ANNALS_READ_MODEL=secret":                  "did you mean ANNALS_READ_MODELS?",
		"ANNALS_LISTEN_ADDRESS=secret":              "did you mean ANNALS_LISTEN?",
		"ANNALS_QUOTA_FOLDER=1":                     "did you mean ANNALS_QUOTA_FOLDERS?",
		"ANNALS_PORT=9000":                          "annals serve --help lists the settings",
		"ANNALS_ZZZ=1":                              "annals serve --help lists the settings",
		"ANNALS_DECLINE=Reports":                    "", // --decline is given by flag alone
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
		told := unknownVariables(rootCommand(), []string{name})
		switch {
		case want == "known" && len(told) > 0:
			t.Errorf("%s is reported: %q", name, told)
		case want != "known" && (len(told) != 1 || !strings.Contains(told[0], strings.Split(name, "=")[0]) || !strings.HasSuffix(told[0], want) || strings.Contains(told[0], "secret")):
			t.Errorf("%s is reported by %q, want %q", name, told, want)
		}
	}
}

// Whatever sets a flag is known.
func TestVariablesOfFlagsAreKnown(t *testing.T) {
	var environment []string
	for _, command := range rootCommand().Commands() {
		for _, flag := range strings.Fields(command.Flags().FlagUsages()) {
			if name, ok := strings.CutPrefix(flag, "--"); ok && command.Flags().Lookup(name) != nil && isSetting(command.Flags().Lookup(name)) {
				environment = append(environment, variableOf(name)+"=1")
			}
		}
	}
	if told := unknownVariables(rootCommand(), environment); len(told) > 0 || !slices.Contains(environment, "ANNALS_LISTEN=1") {
		t.Errorf("of %d variables reported: %q", len(environment), told)
	}
}
