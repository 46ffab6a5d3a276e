// Command tiny stands in for the program where packing is tested: it takes the
// same names from the linker, and is compiled in no time.
package main

import "os"

var release, commit string

func main() { os.Stdout.WriteString("annals version " + release + "+" + commit + "\n") }
