package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"taskrun/cmd/console"
	"taskrun/cmd/enginerun"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/datadir"
)

func TestExitCodeOfErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		err    error
		code   int
		stderr string
		stdout string // with --output json, without the time
	}{
		{"none", nil, 0, "", ""},
		{"told already", exit.Silent(verdict.Failed), 1, "", ""},
		{"nothing to tell", exit.Silent(verdict.OK), 0, "", ""},
		{
			"wrong call", exit.Usage("cannot do %q", "that").WithHint("do this"), 2,
			"taskrun: cannot do \"that\"\ndo this\n",
			`"severity":"error","summary":"cannot do \"that\"","detail":"do this","file":"","line":0,"column":0}` + "\n",
		},
		{"wrapped", fmt.Errorf("outer: %w", exit.Usage("inner")), 2, "taskrun: outer: inner\n", ""},
		{"our own", fs.ErrPermission, 125, "taskrun: permission denied\n", ""},
		{"closed stdout", fmt.Errorf("write: %w", syscall.EPIPE), 141, "", ""},
		{"cancelled", context.Canceled, 130, "taskrun: context canceled\n", ""},
		{
			"a job that runs already", enginerun.Refused(&datadir.InUseError{JobID: "j", PID: 7}, "/data"), 3,
			"taskrun: job \"j\" is running: process 7\nchange it with: taskrun update FILE; stop it with: taskrun stop j; run another one beside it with: taskrun up --data-dir DIR\n", "",
		},
		{
			"a data directory that cannot be made", enginerun.Refused(fmt.Errorf("cannot make directory: %w", &fs.PathError{Op: "mkdir", Path: "/home/u/.local", Err: syscall.EROFS}), "/home/u/.local/state/taskrun"), 125,
			"taskrun: cannot make directory: mkdir /home/u/.local: read-only file system\nchoose a directory that you can write to with --data-dir or TASKRUN_DATA_DIR\n", "",
		},
		{
			"a file elsewhere that cannot be read", enginerun.Refused(&fs.PathError{Op: "open", Path: "/etc/shadow", Err: syscall.EACCES}, "/home/u/.local/state/taskrun"), 125,
			"taskrun: open /etc/shadow: permission denied\n", "",
		},
		{"refused by the engine", enginerun.Refused(errors.New("disk full"), "/data"), 125, "taskrun: disk full\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := exit.Code(c.err); got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
			streams, _, stderr := ui.Test()
			newApp(&console.Console{Streams: streams, Color: ui.ColorAuto}, nil).PrintError(c.err)
			if got := stderr.String(); got != c.stderr {
				t.Errorf("stderr says %q, want %q", got, c.stderr)
			}
			if c.stdout == "" {
				return
			}
			streams, stdout, _ := ui.Test()
			newApp(&console.Console{Streams: streams, JSONErrors: true}, nil).PrintError(c.err)
			if got := withoutTime(stdout.String()); got != c.stdout {
				t.Errorf("stdout says %q, want %q", got, c.stdout)
			}
		})
	}
}
