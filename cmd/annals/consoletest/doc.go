// Package consoletest has the tests that use the web pages as people do: in a browser, at the
// real program. It has no other code, and may import all packages.
package consoletest
