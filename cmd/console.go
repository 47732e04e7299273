package cmd

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

// console is where a user calls a command: the streams, the environment and the signals.
type console struct {
	streams *ui.Streams
	environ []string // "K=V"
	signals func() (signals <-chan os.Signal, stop func())
	color   ui.ColorMode

	jsonErrors bool // errors go to stdout, as diagnostics
}

// answer returns where a command writes its answer, and in which format.
func (c *console) answer(mode ui.Mode) answer.To {
	return answer.To{Streams: c.streams, Mode: mode, Color: c.color, At: time.Now()}
}

// printError prints err and its hint. Errors are printed nowhere else.
func (c *console) printError(err error) {
	exit, ok := errors.AsType[*exit.Error](err)
	if err == nil || errors.Is(err, syscall.EPIPE) || ok && exit.Err == nil {
		return
	}
	hint := client.Remedy(err)
	if ok && exit.Hint != "" {
		hint = exit.Hint
	}
	if c.jsonErrors {
		d := ui.Diagnostic{Severity: "error", Summary: err.Error(), Detail: hint}
		_ = ui.WriteDiagnostic(c.streams.Out, time.Now(), d) // there is nowhere else to report it
		return
	}
	c.report(c.streams.ErrStyle(c.color).Bad("taskrun:"), err.Error())
	if hint != "" {
		c.report("", hint)
	}
}

// report writes a message to stderr, after a colored word.
func (c *console) report(word, text string) {
	line := c.streams.ErrStyle(c.color).Plain(text)
	if word != "" {
		line = word + " " + line
	}
	fmt.Fprintln(c.streams.Err, line)
}

// say writes a line to stderr.
func (c *console) say(format string, args ...any) {
	fmt.Fprintf(c.streams.Err, "%s\n", c.streams.ErrStyle(c.color).Note("▸ "+fmt.Sprintf(format, args...)))
}

// warn reports an error that does not stop the command.
func (c *console) warn(err error) {
	c.report(c.streams.ErrStyle(c.color).Waiting("warning:"), err.Error())
}

// needsTerminal refuses a full screen without a terminal.
func (c *console) needsTerminal() error {
	s := c.streams
	if s.InTerm && s.OutTerm && s.Cursor() {
		return nil
	}
	err := exit.Usage("cannot show a full screen: stdin and stdout must be a terminal")
	if s.InTerm && s.OutTerm {
		err = exit.Usage("cannot show a full screen on a terminal without cursor control: TERM is %q", s.Env("TERM"))
	}
	return err.WithHint("use instead: taskrun attach, ps, logs")
}
