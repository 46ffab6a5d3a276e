// Command tiny replaces annals in tests of releases: it has the same linker-set
// variables, and compiles fast.
package main

import "os"

var release, commit string

func main() { os.Stdout.WriteString("annals version " + release + "+" + commit + "\n") }
