package console

import (
	"io"
	"os"

	"taskrun/cmd/report"
	"taskrun/cmd/ui"
)

// GuardStreams sees to it that GitHub's runner finds no commands in the output of
// tasks.
func (c *Console) GuardStreams(mode ui.Mode) {
	guarded := *c.Streams
	guarded.Out, guarded.Err = guard(guarded.Out, mode == ui.JSON), guard(guarded.Err, false)
	c.Streams = &guarded
}

// GuardInWorkflow is GuardStreams for a command that shows output of tasks and makes
// no reports, in a workflow of GitHub Actions.
func (c *Console) GuardInWorkflow(mode ui.Mode) {
	if c.Streams.Env("GITHUB_ACTIONS") == "true" {
		c.GuardStreams(mode)
	}
}

// guard returns a stream in which GitHub's runner finds no commands. The runner
// reads no regular files.
func guard(to io.Writer, json bool) io.Writer {
	if f, ok := to.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return to
		}
	}
	return &report.Guard{To: to, JSON: json}
}
