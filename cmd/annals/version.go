package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"annals/cmd/annals/settings"

	"github.com/spf13/cobra"
)

// release is the version of the program and of its interfaces. commit is the commit
// from which the program was built. cmd/release sets both through the linker.
var (
	release = "0.1.0-beta"
	commit  = ""
)

// version returns the release, and the commit if it is known.
func version() string {
	if commit != "" {
		return release + "+" + commit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return release + "+" + s.Value[:12]
		}
	}
	return release
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  settings.Arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "annals %s %s/%s %s\n", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}
