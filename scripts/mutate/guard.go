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
	cmd.Stdout = os.Stdout // not a pipe of ours, which remaining processes would hold open
	err := cmd.Run()
	killOrphans()
	if err != nil {
		return 1
	}
	return 0
}
