package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// guardArg is the argument that makes mutate the guard of one command.
const guardArg = "-guard-"

// guard runs a command until it ends or the guard is signaled, and then kills
// the processes that the command left behind. It returns the exit code.
func guard(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := adopt(); err != nil {
		return 1
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr         // not pipes of ours, which remaining processes would hold open
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a mutant may kill its whole process group
	err := cmd.Run()
	killOrphans()
	if err != nil {
		return 1
	}
	return 0
}

// command returns a command with a guard, which a canceled context ends with
// all its processes.
func command(ctx context.Context, args ...string) *exec.Cmd {
	self, err := os.Executable()
	cmd := exec.CommandContext(ctx, self, append([]string{guardArg}, args...)...)
	cmd.Err = err
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd
}

// scratch creates a directory for temporary files and returns an environment in
// which the go command and the tests use it. As in /tmp, other users can pass
// through it: some tests need that.
func scratch() (dir string, env []string, err error) {
	dir, err = os.MkdirTemp("", "mu") // a short path, because tests create sockets in it
	if err != nil {
		return "", nil, err
	}
	return dir, append(os.Environ(), "TMPDIR="+dir, "GOTMPDIR="+dir), os.Chmod(dir, 0o711) //nolint:gosec // see above
}
