// Command release builds static binaries of annals for all platforms. For each platform
// it writes an archive and a bill of materials (CycloneDX), and at the end one file
// with the checksums of all files. Builds are reproducible: the same commit, version
// and Go toolchain give the same bytes on every machine.
//
// It imports no other package of this module.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// platforms are all platforms of a release.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

func (p platform) program() string {
	if p.os == "windows" {
		return "annals.exe"
	}
	return "annals"
}

var host = platform{runtime.GOOS, runtime.GOARCH}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	r := release{source: ".", main: "./cmd/annals", extra: []string{"LICENSE", "README.md", "CHANGELOG.md"}}
	only := ""
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "version of the release, such as 1.2.0 (required)")
	flags.StringVar(&r.out, "out", "dist", "output folder, which must be new or empty")
	flags.StringVar(&only, "only", "", "comma-separated platforms, such as linux/amd64, or host for this machine (default: all)")
	flags.BoolVar(&r.bill, "sbom", true, "write bills of materials with "+generator+", which is downloaded")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.version == "" || strings.ContainsAny(r.version, "/ _") {
		return fmt.Errorf("-version %q: must be a version without slash, space or underscore, such as 1.2.0", r.version)
	}
	for _, p := range platforms {
		names := strings.Split(only, ",")
		if only == "" || slices.Contains(names, p.String()) || p == host && slices.Contains(names, "host") {
			r.platforms = append(r.platforms, p)
		}
	}
	if len(r.platforms) == 0 {
		return fmt.Errorf("-only %s: must be host or some of %v", only, platforms)
	}
	if old, err := filepath.Glob(filepath.Join(r.out, "*")); err != nil || len(old) > 0 {
		return fmt.Errorf("-out %s is not empty: it has %d files, which could be mistaken for files of this release: remove them", r.out, len(old))
	}
	return r.make(ctx)
}
