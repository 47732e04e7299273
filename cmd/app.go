package cmd

import (
	"os"
	"time"

	"taskrun/cmd/preflight"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/drivers"
)

// app is what commands work with: everything that they need of the world.
type app struct {
	streams *ui.Streams
	environ []string // "K=V"
	drivers func() map[string]drivers.Driver
	signals func() (signals <-chan os.Signal, stop func())

	// Flags of every command.
	color      ui.ColorMode
	configFile string

	unheeded map[string][]preflight.Unheeded // options of drivers, by driver
	healthOf *preflight.Health               // nil until it is needed

	meeting meeting // where the runs of this user meet

	understood bool // the command line and the config are in order
	jsonErrors bool // errors go to stdout, as diagnostics
}

// answerTo returns where a command shows its answer, and how.
func answerTo(a *app, mode ui.Mode) answer.To {
	return answer.To{Streams: a.streams, Mode: mode, Color: a.color, At: time.Now()}
}
