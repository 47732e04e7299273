// Package console is where a user calls a command: the streams, the messages on them,
// and the signals.
package console

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
)

// Console is the environment in which commands are called.
type Console struct {
	Streams *ui.Streams
	Environ []string // "K=V"
	Signals func() (signals <-chan os.Signal, stop func())
	Color   ui.ColorMode

	JSONErrors bool // errors go to stdout, as diagnostics
}

// Answer returns where a command writes its answer, and in which format.
func (c *Console) Answer(mode ui.Mode) answer.To {
	return answer.To{Streams: c.Streams, Mode: mode, Color: c.Color, At: time.Now()}
}

// PrintError prints err and its hint. Errors are printed nowhere else.
func (c *Console) PrintError(err error) {
	known, ok := errors.AsType[*exit.Error](err)
	if err == nil || errors.Is(err, syscall.EPIPE) || ok && known.Err == nil {
		return
	}
	hint := client.Remedy(err)
	if ok && known.Hint != "" {
		hint = known.Hint
	}
	if c.JSONErrors {
		d := ui.Diagnostic{Severity: "error", Summary: err.Error(), Detail: hint}
		_ = ui.WriteDiagnostic(c.Streams.Out, time.Now(), d) // there is nowhere else to report it
		return
	}
	c.Report(c.Streams.ErrStyle(c.Color).Bad("taskrun:"), err.Error())
	if hint != "" {
		c.Report("", hint)
	}
}

// Report writes a message to stderr, after a colored word.
func (c *Console) Report(word, text string) {
	line := c.Streams.ErrStyle(c.Color).Plain(text)
	if word != "" {
		line = word + " " + line
	}
	fmt.Fprintln(c.Streams.Err, line)
}

// Say writes a line to stderr.
func (c *Console) Say(format string, args ...any) {
	fmt.Fprintf(c.Streams.Err, "%s\n", c.Streams.ErrStyle(c.Color).Note("▸ "+fmt.Sprintf(format, args...)))
}

// Warn reports an error that does not stop the command.
func (c *Console) Warn(err error) {
	c.Report(c.Streams.ErrStyle(c.Color).Waiting("warning:"), err.Error())
}

// NeedsTerminal refuses a full screen without a terminal.
func (c *Console) NeedsTerminal() error {
	s := c.Streams
	if s.InTerm && s.OutTerm && s.Cursor() {
		return nil
	}
	err := exit.Usage("cannot show a full screen: stdin and stdout must be a terminal")
	if s.InTerm && s.OutTerm {
		err = exit.Usage("cannot show a full screen on a terminal without cursor control: TERM is %q", s.Env("TERM"))
	}
	return err.WithHint("use instead: taskrun attach, ps, logs")
}
