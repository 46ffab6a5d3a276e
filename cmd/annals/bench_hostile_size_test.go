package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// diskSize measures the parts of the data folder, such as the log and the originals.
func (s *benchServer) diskSize() diskSize {
	size := diskSize{}
	_ = filepath.WalkDir(s.data, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil { // otherwise the file was removed
				inside, _ := filepath.Rel(s.data, path)
				name, _, _ := strings.Cut(filepath.ToSlash(inside), "/")
				size[strings.TrimSuffix(name, "-wal")] += info.Size()
			}
		}
		return nil
	})
	return size
}

type diskSize map[string]int64

// since returns how much the data folder has grown since before: the total in bytes,
// and a text with the growth of each part.
func (d diskSize) since(before diskSize) (all int64, parts string) {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(d)) {
		grown := d[name] - before[name]
		if all += grown; grown >= 1<<20 {
			list = append(list, fmt.Sprintf("%s %d MB", name, grown>>20))
		}
	}
	return all, strings.Join(list, ", ")
}

// watchFamily is like watchMemory, but measures the proportional set size (PSS), which
// counts memory that several processes share only one time.
func (s *benchServer) watchFamily() (stop func() (all, server float64)) {
	return peaks(250*time.Millisecond, func() (server, children float64) {
		for i, pid := range s.family() {
			if own := proportionalSize(pid); i == 0 {
				server = own
			} else {
				children += own
			}
		}
		return server, children
	})
}

// proportionalSize returns the PSS of a process in MB, or 0 if it does not exist.
func proportionalSize(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	_, after, _ := strings.Cut(string(text), "\nPss:")
	line, _, _ := strings.Cut(after, "kB")
	kilobytes, _ := strconv.ParseFloat(strings.TrimSpace(line), 64)
	return kilobytes / 1024
}
