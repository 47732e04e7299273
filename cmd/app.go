package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/preflight"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/runtimedir"
)

// app holds everything that commands share.
type app struct {
	streams *ui.Streams
	environ []string // "K=V"
	drivers func() map[string]drivers.Driver
	signals func() (signals <-chan os.Signal, stop func())

	// Flags of every command.
	color      ui.ColorMode
	configFile string

	unheeded map[string][]preflight.Unheeded // options of drivers, by driver
	healthOf *preflight.Health               // nil until first needed

	runtime runtimeDir

	warned sync.Map // errors of engines that the user was told about

	understood bool // the command line and the config are in order
	jsonErrors bool // errors go to stdout, as diagnostics
}

// runtimeDir is the directory with the sockets of a user's runs.
type runtimeDir struct {
	once         sync.Once
	dir, warning string
	err          error
}

// sockets returns the directory for the sockets of this user's runs. The
// directory need not exist.
func (a *app) sockets() (string, error) {
	r := &a.runtime
	r.once.Do(func() {
		euid := os.Geteuid()
		r.dir, r.warning, r.err = runtimedir.Find(a.streams.Env, euid, allocdir.DefaultDataDir(a.streams.Env, euid))
	})
	return r.dir, r.err
}

// dataDir returns the absolute path of the data directory.
func (a *app) dataDir(given string) (string, error) {
	if given == "" {
		given = allocdir.DefaultDataDir(a.streams.Env, os.Geteuid())
	}
	return filepath.Abs(given)
}

// health returns the health of the drivers. It asks each driver only once.
func (a *app) health() *preflight.Health {
	if a.healthOf == nil {
		a.healthOf = preflight.NewHealth(a.drivers())
	}
	return a.healthOf
}

// answerTo returns where a command writes its answer, and in which format.
func answerTo(a *app, mode ui.Mode) answer.To {
	return answer.To{Streams: a.streams, Mode: mode, Color: a.color, At: time.Now()}
}

// printError prints err and its hint. Errors are printed nowhere else.
func (a *app) printError(err error) {
	exit, ok := errors.AsType[*exit.Error](err)
	if err == nil || errors.Is(err, syscall.EPIPE) || ok && exit.Err == nil {
		return
	}
	hint := client.Remedy(err)
	if ok && exit.Hint != "" {
		hint = exit.Hint
	}
	if a.jsonErrors {
		d := ui.Diagnostic{Severity: "error", Summary: err.Error(), Detail: hint}
		_ = ui.WriteDiagnostic(a.streams.Out, time.Now(), d) // there is nowhere else to report it
		return
	}
	a.report(a.streams.ErrStyle(a.color).Bad("taskrun:"), err.Error())
	if hint != "" {
		a.report("", hint)
	}
}

// report writes a message to stderr, after a colored word.
func (a *app) report(word, text string) {
	line := a.streams.ErrStyle(a.color).Plain(text)
	if word != "" {
		line = word + " " + line
	}
	fmt.Fprintln(a.streams.Err, line)
}

// say writes a line to stderr.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.streams.Err, "%s\n", a.streams.ErrStyle(a.color).Note("▸ "+fmt.Sprintf(format, args...)))
}

// warn reports an error that does not stop the command.
func (a *app) warn(err error) {
	a.report(a.streams.ErrStyle(a.color).Waiting("warning:"), err.Error())
}
