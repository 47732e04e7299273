package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"taskrun/cmd/exit"
	"taskrun/drivers/process"
	"taskrun/drivers/process/keeper"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/runtimedir"
)

// agentLock is the name under which the keeper of an agent holds its lock.
const agentLock = "agent lock"

// Files in the directory of an agent.
const (
	agentAddress = "address" // of the port
	agentWaits   = "waiting" // the keeper that waits for the next agent
	agentCall    = "call"    // how that is started
)

// agentLogPath returns the log of an agent in the background.
func agentLogPath(dataDir string) string { return filepath.Join(dataDir, "agent", "agent.log") }

// detachAgent starts an agent in the background, or wakes the keeper of one that
// has left its tasks, and says how to reach it.
func detachAgent(ctx context.Context, a *app, opts agentOptions, dataDir string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	sockets, err := a.runs.Sockets()
	if err == nil {
		err = runtimedir.Make(sockets)
	}
	if err != nil {
		return err // nobody could use the agent
	}
	d := keeper.Detached{Args: append([]string{"agent"}, flagWords(opts.flags, "detach")...), Env: a.Environ, Dir: dir, RecordDir: sockets}
	waiting, err := waitingKeeper(dataDir)
	if err != nil {
		return err
	}
	if waiting != nil {
		if err := wakeAgent(ctx, a, dataDir, *waiting, d); err != nil {
			return err
		}
		return tellAgent(ctx, a, dataDir)
	}
	lock, err := allocdir.OpenAgent(dataDir, nil) // creates the directory
	if err != nil {
		return agentError(err, dataDir)
	}
	d.Log, err = os.OpenFile(lock.Path("keeper.log"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err = errors.Join(err, lock.Close()); err != nil {
		return readOnly(err, dataDir)
	}
	defer d.Log.Close()
	if _, err := keeper.Detach(d); err != nil {
		return agentNotStarted(err, d.Log.Name())
	}
	return tellAgent(ctx, a, dataDir)
}

// agentNotStarted returns why an agent in the background has not started.
func agentNotStarted(failure error, log string) error {
	if told := toldStart(failure, nil); told != nil {
		return told
	}
	if text, err := readLimited(log); err == nil && len(text) > 0 {
		failure = fmt.Errorf("%w:\n%s", failure, strings.TrimSpace(string(text)))
	}
	return failure
}

// holdOn gives the keeper of an agent what the next one needs, and says that the
// agent has started.
func (r *resident) holdOn() error {
	path, err := os.Executable()
	if err == nil {
		err = r.watch.Continue(path)
	}
	if err == nil {
		err = r.watch.Hold(agentLock, r.dir.Lock())
	}
	if err == nil {
		err = os.Remove(r.dir.Path(agentWaits))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.watch.Stands("", nil)
}

// await lets the keeper of the agent wait for the next one.
func (r *resident) await() error {
	calls, err := os.OpenFile(r.dir.Path(agentCall), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer calls.Close()
	id, err := r.watch.Await(calls)
	if err != nil {
		return err
	}
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return os.WriteFile(r.dir.Path(agentWaits), text, 0o600)
}

// waitingKeeper returns the keeper that waits for the next agent of a data
// directory, or nil.
func waitingKeeper(dataDir string) (*process.ID, error) {
	text, err := readLimited(filepath.Join(dataDir, "agent", agentWaits))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var id process.ID
	if err != nil || json.Unmarshal(text, &id) != nil || !id.Running() {
		return nil, err
	}
	return &id, nil
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
	if err := keeper.Wake(id, filepath.Join(dataDir, "agent", agentCall), path, d); err != nil {
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

// agentPause is the pause between two looks for an agent: nothing announces it.
const agentPause = 20 * time.Millisecond
