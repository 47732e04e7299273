package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"taskrun/cmd/agent/resident"
	"taskrun/cmd/exit"
	"taskrun/drivers/process"
	"taskrun/drivers/process/keeper"
	"taskrun/engine/leaf/datadir"
)

// detachAgent starts an agent in the background, or wakes the keeper of one that
// has left its tasks, and says how to reach it.
func detachAgent(ctx context.Context, a *app, flags *pflag.FlagSet, dataDir string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	sockets, err := a.runs.MakeSockets()
	if err != nil {
		return err // clients could not use the agent
	}
	d := keeper.Detached{Args: append([]string{"agent"}, flagWords(flags, "detach")...), Env: a.Environ, Dir: dir, RecordDir: sockets}
	waiting, err := resident.WaitingKeeper(dataDir)
	if err != nil {
		return err
	}
	if waiting != nil {
		if err := wakeAgent(ctx, a, dataDir, *waiting, d); err != nil {
			return err
		}
		return tellAgent(ctx, a, dataDir)
	}
	lock, err := datadir.OpenAgent(dataDir, nil) // creates the directory
	if err != nil {
		return agentError(err, dataDir)
	}
	d.Log, err = os.OpenFile(lock.Path("keeper.log"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err = errors.Join(err, lock.Close()); err != nil {
		return exit.ReadOnly(err, dataDir)
	}
	defer d.Log.Close()
	if _, err := keeper.Detach(d); err != nil {
		return agentNotStarted(err, d.Log.Name())
	}
	return tellAgent(ctx, a, dataDir)
}

// agentNotStarted returns why an agent in the background has not started.
func agentNotStarted(failure error, log string) error {
	if told := exit.Unpack(failure); told != nil {
		return told
	}
	if text, err := resident.ReadLimited(log); err == nil && len(text) > 0 {
		failure = fmt.Errorf("%w:\n%s", failure, strings.TrimSpace(string(text)))
	}
	return failure
}

// agentTime limits how long an agent may take to start or to end, beyond the grace
// periods of its tasks.
const agentTime = 15 * time.Second

// wakeAgent lets a keeper start an agent, and waits until it answers.
func wakeAgent(ctx context.Context, a *app, dataDir string, id process.ID, d keeper.Detached) error {
	path, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find this program: %w", err)
	}
	if err := keeper.Wake(id, filepath.Join(dataDir, "agent", resident.CallFile), path, d); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, agentTime)
	defer cancel()
	for {
		found, err := a.runs.FindAgent(ctx, dataDir)
		if err == nil && found != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return exit.Failed("the agent has not started within %v", agentTime).WithHint("see %s", filepath.Join(dataDir, "agent", "keeper.log"))
		case <-time.After(agentPause):
		}
	}
}

// tellAgent says where clients find an agent that has just started in the
// background.
func tellAgent(ctx context.Context, a *app, dataDir string) error {
	found, err := a.runs.FindAgent(ctx, dataDir)
	switch {
	case err != nil:
		return err
	case found == nil:
		return exit.Failed("the agent has ended").WithHint("see %s", resident.LogPath(dataDir))
	}
	w := wordsOf(a, dataDir, found)
	a.Say("the agent runs in the background: process %d; stop it with: taskrun agent stop", found.Self.PID)
	w.Write()
	return nil
}

// agentError adds hints to errors of the start of an agent.
func agentError(err error, dataDir string) error {
	if errors.Is(err, datadir.ErrAgent) {
		if waiting, _ := resident.WaitingKeeper(dataDir); waiting != nil {
			return exit.Running("the tasks of the last agent run in data directory %q", dataDir).WithHint(continueTasks)
		}
		return exit.Running("%w", err).WithHint("run jobs in it with: taskrun up --agent; stop it with: taskrun agent stop; give this one another directory with: --data-dir DIR")
	}
	return exit.ReadOnly(err, dataDir)
}
