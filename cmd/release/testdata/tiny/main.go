// Command tiny replaces the program in tests of the archives: it has the same variables
// for the linker, and compiles fast.
package main

import "os"

var release, commit string

func main() { os.Stdout.WriteString("annals version " + release + "+" + commit + "\n") }
