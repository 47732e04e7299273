// Package cmd is the command tree: the only place where the parts of taskrun
// are joined.
package cmd

// Main runs the command line and returns the exit code.
func Main() int { return 0 }
