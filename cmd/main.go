// Package cmd is the command tree: the only place where the parts of taskrun
// are joined.
package cmd

import (
	"context"
	"os"
	"sync"

	"taskrun/cmd/ui"
	"taskrun/drivers/catalog"
	"taskrun/drivers/process/keeper"
	"taskrun/jobspec/visible"
)

// Main runs the command line and returns the exit code.
func Main() int {
	if keeper.Main(cleanUp) {
		return exitOK
	}
	a := &app{
		streams: ui.System(),
		environ: os.Environ(),
		drivers: sync.OnceValue(catalog.New),
		signals: watchSignals,
		color:   ui.ColorAuto,
	}
	return a.run(context.Background(), os.Args[1:])
}

// run runs a command and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := newRootCommand(a)
	root.SetArgs(nomadSpelling(args))
	root.SetIn(a.streams.In)
	root.SetOut(visible.Writer{To: a.streams.Out})
	root.SetErr(visible.Writer{To: a.streams.Err})
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.understood {
		err = wrongCall(cmd, err)
	}
	a.printError(err)
	return exitCode(err)
}
