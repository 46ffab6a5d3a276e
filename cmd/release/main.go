// Command release builds the program for every platform that it runs on, static,
// and packs it: an archive and a bill of materials (CycloneDX) for each, and the
// checksums of all of them. From one commit, one version and one toolchain come
// the same bytes, wherever and whenever it runs.
//
// It imports nothing of ours.
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

// platforms are those that a release is for.
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
	flags.StringVar(&r.version, "version", "", "version, such as 1.2.0 (required)")
	flags.StringVar(&r.out, "out", "dist", "new or empty folder for what is made")
	flags.StringVar(&only, "only", "", "platforms with commas between, such as linux/amd64, or host (default: all)")
	flags.BoolVar(&r.bill, "sbom", true, "write bills of materials, by "+generator+", which is downloaded for that")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.version == "" || strings.ContainsAny(r.version, "/ _") {
		return fmt.Errorf("-version %q: give a version, without slash, blank or underscore", r.version)
	}
	for _, p := range platforms {
		names := strings.Split(only, ",")
		if only == "" || slices.Contains(names, p.String()) || p == host && slices.Contains(names, "host") {
			r.platforms = append(r.platforms, p)
		}
	}
	if len(r.platforms) == 0 {
		return fmt.Errorf("-only %s: it is none of %v", only, platforms)
	}
	if old, err := filepath.Glob(filepath.Join(r.out, "*")); err != nil || len(old) > 0 {
		return fmt.Errorf("-out %s holds %d files: what an earlier release left would be taken for this one's; remove it", r.out, len(old))
	}
	return r.make(ctx)
}
