package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// deployed returns the text of a file in deploy/.
func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantFlag fails the test unless serve has a flag that the environment variable sets,
// and the flag accepts the value.
func wantFlag(t *testing.T, file, variable, value string) {
	t.Helper()
	if variable == "ANNALS_CONFIG" {
		return // sets --config, a flag of all commands
	}
	serve, _, err := rootCommand().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "ANNALS_"), "_", "-"))
	var flag *pflag.Flag
	if flag = serve.Flags().Lookup(name); flag == nil {
		flag = serve.InheritedFlags().Lookup(name)
	}
	if flag == nil {
		t.Errorf("%s sets %s, but serve has no flag --%s", file, variable, name)
	} else if err := flag.Value.Set(value); err != nil {
		t.Errorf("%s sets %s to %q: %v", file, variable, value, err)
	}
}

// composeFile is the part of a compose file that the tests check.
type composeFile struct {
	Services map[string]struct {
		Image       string
		Environment map[string]string
		MemLimit    string `yaml:"mem_limit"`
		PidsLimit   int    `yaml:"pids_limit"`
		Volumes     []string
		Ports       []string
		ReadOnly    bool `yaml:"read_only"`
		Healthcheck struct{ Test []string }
		DependsOn   map[string]any `yaml:"depends_on"`
	}
	Volumes map[string]any
}

func TestComposeFile(t *testing.T) {
	checkCompose(t, "compose.yaml", 2)
}

// The compose file for a single node has one container and one volume with all data. By
// default its port is reachable only from the same machine. It contains no password.
func TestSingleComposeFile(t *testing.T) {
	compose := checkCompose(t, "single.yaml", 1)
	node := compose.Services["annals"]
	if len(compose.Services) != 1 || len(compose.Volumes) != 1 || len(node.Volumes) != 1 || !strings.HasSuffix(node.Volumes[0], ":/data") {
		t.Errorf("single.yaml has the services %v, and the volumes %v", compose.Services, compose.Volumes)
	}
	listens := regexp.MustCompile(`ANNALS_DATA=/data ANNALS_LISTEN=0\.0\.0\.0:(\d+)\n`).FindStringSubmatch(deployed(t, "Dockerfile"))
	if listens == nil || !slices.Equal(node.Ports, []string{"127.0.0.1:" + listens[1] + ":" + listens[1]}) {
		t.Errorf("single.yaml has the ports %v, and the image listens on %v", node.Ports, listens)
	}
	if len(node.Healthcheck.Test) != 3 || node.Healthcheck.Test[2] != "health" || !node.ReadOnly {
		t.Errorf("single.yaml has the health check %v, read-only %v", node.Healthcheck.Test, node.ReadOnly)
	}
	if text := deployed(t, "single.yaml"); !strings.Contains(text, "annals user link admin") || strings.Contains(text, "PASSWORD") {
		t.Error("single.yaml does not say how to set the first password, or contains one")
	}
}

// checkCompose checks a compose file that must run the given number of Annals nodes.
func checkCompose(t *testing.T, file string, want int) (compose composeFile) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(deployed(t, file)), &compose); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	nodes := 0
	for name, service := range compose.Services {
		if tag := service.Image[strings.LastIndex(service.Image, ":")+1:]; tag == service.Image || tag == "latest" {
			t.Errorf("the image %s of %s has no version", service.Image, name)
		}
		for needed := range service.DependsOn {
			if _, ok := compose.Services[needed]; !ok {
				t.Errorf("%s depends on %s, which does not exist", name, needed)
			}
		}
		for _, v := range service.Volumes {
			volume, _, _ := strings.Cut(v, ":")
			if _, ok := compose.Volumes[volume]; !ok && !strings.HasPrefix(volume, ".") && !strings.HasPrefix(volume, "$") {
				t.Errorf("%s has the volume %s, which does not exist", name, volume)
			}
		}
		if !strings.HasPrefix(service.Image, "annals:") {
			continue
		}
		nodes++
		if service.MemLimit == "" || service.PidsLimit == 0 {
			t.Errorf("%s has no limit of memory or processes", name)
		}
		for variable, value := range service.Environment {
			if strings.HasPrefix(variable, "ANNALS_") {
				wantFlag(t, file, variable, value)
			}
		}
	}
	if nodes != want {
		t.Errorf("%s has %d nodes, want %d", file, nodes, want)
	}
	return compose
}

// The file env.example must have exactly the variables that compose.yaml requires, and
// no values for secrets.
func TestEnvironmentExampleMatchesComposeFile(t *testing.T) {
	var asked, given []string
	for _, m := range regexp.MustCompile(`[^$]\$\{([A-Z_]+)[^}]*\}`).FindAllStringSubmatch(deployed(t, "compose.yaml"), -1) {
		asked = append(asked, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^([A-Z_]+)=(.*)$`).FindAllStringSubmatch(deployed(t, "env.example"), -1) {
		given = append(given, m[1])
		if m[2] != "" && regexp.MustCompile(`PASSWORD|KEY|USER`).MatchString(m[1]) {
			t.Errorf("env.example has a value for %s, want none", m[1])
		}
	}
	slices.Sort(asked)
	slices.Sort(given)
	if asked = slices.Compact(asked); !slices.Equal(asked, given) {
		t.Errorf("compose.yaml asks for %v, and env.example has %v", asked, given)
	}
}

func TestDeploymentFiles(t *testing.T) {
	for _, name := range []string{"Dockerfile", "annals.service"} {
		for _, m := range regexp.MustCompile(`\b(ANNALS_[A-Z_]+)=([\w./:]+)`).FindAllStringSubmatch(deployed(t, name), -1) {
			wantFlag(t, name, m[1], m[2])
		}
	}
	commands := regexp.MustCompile(`/usr/local/bin/annals(?:", "|, | )([a-z]+)`)
	for _, name := range []string{"Dockerfile", "annals.service", "compose.yaml", "single.yaml"} {
		for _, m := range commands.FindAllStringSubmatch(deployed(t, name), -1) {
			if found, _, err := rootCommand().Find([]string{m[1]}); err != nil || found.Name() != m[1] {
				t.Errorf("%s calls annals %s, which does not exist: %v", name, m[1], err)
			}
		}
	}
	for _, m := range regexp.MustCompile(`# (ANNALS_[A-Z_]+): (.*)`).FindAllStringSubmatch(deployed(t, "single.yaml"), -1) {
		wantFlag(t, "single.yaml", m[1], m[2])
	}
	wantSettings(t, "annals.yaml", filepath.Join("..", "..", "deploy", "annals.yaml"))
}

// wantSettings fails the test unless serve accepts all settings of a configuration
// file. name is the name of the file in errors.
func wantSettings(t *testing.T, name, path string) {
	t.Helper()
	if err := run(t.Context(), []string{"version", "--config", path}, nil, io.Discard, t.Output()); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var settings map[string]any
	if err := yaml.Unmarshal(text, &settings); err != nil {
		t.Fatal(err)
	}
	for flag, value := range settings {
		all, isList := value.([]any)
		if !isList {
			all = []any{value}
		}
		for _, one := range all {
			wantFlag(t, name, "ANNALS_"+strings.ToUpper(strings.ReplaceAll(flag, "-", "_")), fmt.Sprint(one))
		}
	}
}

// The systemd unit must limit the resources of the server together with its child
// processes, and must not forbid what reader processes need to confine themselves.
func TestUnitLimits(t *testing.T) {
	unit := deployed(t, "annals.service")
	for _, setting := range []string{`MemoryMax=\d+[MG]`, `TasksMax=\d+`, `OOMPolicy=continue`, `LimitNOFILE=\d+`, `NoNewPrivileges=yes`, `SystemCallFilter=.*landlock_restrict_self.*seccomp`} {
		if !regexp.MustCompile(`(?m)^` + setting).MatchString(unit) {
			t.Errorf("annals.service does not set %s", setting)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return
	}
	text, err := exec.Command(analyze, "security", "--offline=true", filepath.Join("..", "..", "deploy", "annals.service")).Output()
	found := regexp.MustCompile(`exposure level for annals.service: (\d+\.\d)`).FindSubmatch(text)
	if err != nil || found == nil {
		t.Skipf("this systemd-analyze judges no files: %v", err)
	}
	if level := string(found[1]); level > "1.5" || len(level) > 3 {
		t.Errorf("systemd-analyze gives the unit an exposure of %s, want 1.5 at most", level)
	}
}
