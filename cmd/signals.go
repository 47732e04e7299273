package cmd

import (
	"os"
	"os/signal"
	"syscall"
)

// stopSignals are the signals that end a run gracefully, and at once when they
// come again, with the exit code that each leads to.
var stopSignals = map[os.Signal]int{
	syscall.SIGINT:  exitInterrupt,
	syscall.SIGTERM: exitTerminate,
	syscall.SIGHUP:  exitHangup,
}

// watchSignals sends the stop signals until stop is called.
//
// SIGHUP stays ignored where it was (nohup). SIGPIPE is caught and dropped, so
// that a closed stdout is an error of the write and tasks can still be stopped;
// it is not ignored, since tasks would inherit that.
func watchSignals() (signals <-chan os.Signal, stop func()) {
	stops, pipe := make(chan os.Signal, 2), make(chan os.Signal, 1)
	for sig := range stopSignals {
		if sig == syscall.SIGHUP && signal.Ignored(sig) {
			continue
		}
		signal.Notify(stops, sig)
	}
	signal.Notify(pipe, syscall.SIGPIPE)
	return stops, func() {
		signal.Stop(stops)
		signal.Stop(pipe)
	}
}
