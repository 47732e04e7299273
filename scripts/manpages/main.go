// Command manpages writes the man pages of all commands of taskrun to a directory:
//
//	go run ./scripts/manpages VERSION DIR
//
// It is a program of its own, because the library costs every start of a program
// that contains it. The same source gives the same pages if SOURCE_DATE_EPOCH is set.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"taskrun/cmd"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: manpages VERSION DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "manpages: %v\n", err)
		os.Exit(1)
	}
}

func write(version, dir string) error {
	root := cmd.Commands()
	root.DisableAutoGenTag = true // it contains the date
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "taskrun " + version, Manual: "taskrun"}, dir)
}
