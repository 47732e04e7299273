package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"taskrun/cmd/agent/resident"
	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
	"taskrun/drivers/process"
	"taskrun/engine/leaf/datadir"
)

type agentStatusOptions struct {
	mode    ui.Mode
	dataDir string
}

func newAgentStatusCommand(a *app) *cobra.Command {
	opts := agentStatusOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the agent of the data directory",
		Long: `Show whether the data directory has an agent, where it listens, and how many of
its jobs are running.

Exit codes:
  0  there is an agent
  1  there is none, or it waits for "taskrun agent --detach"
  2  the call is wrong`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgentStatus(cmd.Context(), a, opts) },
	}
	bindOutput(cmd, &opts.mode, "plain, json or quiet: only the process")
	bindDataDir(cmd.Flags(), &opts.dataDir)
	return cmd
}

// agentStatus is the object of "agent status --output json".
type agentStatus struct {
	Type    string    `json:"type"`
	Time    time.Time `json:"time"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Socket  string    `json:"socket"`
	Address string    `json:"address,omitempty"` // of the port
	Token   string    `json:"token_file,omitempty"`
	DataDir string    `json:"data_dir"`
	Jobs    int       `json:"jobs"`
	Running int       `json:"running"`
}

func runAgentStatus(ctx context.Context, a *app, opts agentStatusOptions) error {
	dataDir, found, err := a.needAgent(ctx, opts.dataDir, continueTasks)
	if err != nil {
		return err
	}
	jobs, err := a.runs.Jobs(ctx, []*client.Server{found.Server})
	if err != nil {
		return err
	}
	w := wordsOf(a, dataDir, found)
	s := agentStatus{
		Type: "agent", Time: time.Now().UTC(), PID: found.Self.PID, Version: found.Self.Version, Socket: found.Server.Socket,
		Address: w.Address, Token: w.TokenFile(), DataDir: dataDir, Jobs: len(jobs),
	}
	for _, j := range jobs {
		if j.Status != "dead" {
			s.Running++
		}
	}
	switch opts.mode {
	case ui.JSON:
		return json.NewEncoder(a.Streams.Out).Encode(s)
	case ui.Quiet:
		_, err = fmt.Fprintln(a.Streams.Out, s.PID)
	default:
		_, err = fmt.Fprintf(a.Streams.Out, "agent    process %d, taskrun %s\n%sjobs     %d, %d running\n", s.PID, s.Version, w.Places(), s.Jobs, s.Running)
	}
	return err
}

// continueTasks is the usual hint about the tasks of an agent that has died.
const continueTasks = "continue them with: taskrun agent --detach"

// needAgent returns the agent of the data directory that a flag names, or an error
// without one. hint is the remedy if only the tasks of an agent are left.
func (a *app) needAgent(ctx context.Context, flag, hint string) (dataDir string, found *client.Engine, err error) {
	if dataDir, err = a.runs.DataDir(flag); err != nil {
		return "", nil, err
	}
	if found, err = a.runs.FindAgent(ctx, dataDir); found != nil || err != nil {
		return dataDir, found, err
	}
	if waiting, err := resident.WaitingKeeper(dataDir); waiting != nil && err == nil {
		return "", nil, exit.Failed("no agent runs in %s, but the tasks of the last one do", dataDir).WithHint("%s", hint)
	}
	if pid, holds := datadir.AgentHolds(dataDir); holds {
		return "", nil, exit.Failed("the agent of %s, process %d, does not answer", dataDir, pid).WithHint("see %s", resident.LogPath(dataDir))
	}
	return "", nil, exit.Failed("no agent runs in %s", dataDir).WithHint("start one with: taskrun agent --detach")
}

type agentStopOptions struct {
	dataDir string
	kill    bool
	keep    bool
}

func newAgentStopCommand(a *app) *cobra.Command {
	var opts agentStopOptions
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop the agent and its tasks",
		Long: `Stop the agent of the data directory, and wait until it has ended. Its tasks get
their grace periods. Jobs that were not stopped run again with the next agent.

With --keep-jobs the tasks of an agent in the background continue, and the next
"taskrun agent --detach" takes them over: to upgrade taskrun, or to change flags.

Exit codes:
  0    the agent has ended
  1    there is no agent, or it has not ended
  2    the call is wrong
  129, 130, 143  the command did not wait for the end`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgentStop(cmd.Context(), a, opts) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&opts.kill, "kill", false, "kill the tasks immediately, without a grace period")
	flags.BoolVar(&opts.keep, "keep-jobs", false, "leave the tasks running for the next agent")
	bindDataDir(flags, &opts.dataDir)
	return cmd
}

func runAgentStop(ctx context.Context, a *app, opts agentStopOptions) error {
	if opts.kill && opts.keep {
		return exit.Usage("--kill cannot be combined with --keep-jobs").WithHint("leave out one of them")
	}
	hint := "to stop them: taskrun agent --detach && taskrun agent stop"
	if opts.keep {
		hint = continueTasks
	}
	_, found, err := a.needAgent(ctx, opts.dataDir, hint)
	if err != nil {
		return err
	}
	agent, err := process.Identify(found.Self.PID)
	if err != nil {
		return nil // it has just ended
	}
	if opts.keep && !found.Self.Detached {
		return exit.Failed("the tasks of an agent in the foreground cannot run without it").WithHint("start it with: taskrun agent --detach")
	}
	order := syscall.SIGTERM
	switch {
	case opts.keep:
		order = resident.LeaveSignal
	case opts.kill:
		order = resident.KillSignal
	}
	if err := syscall.Kill(agent.PID, order); err != nil && !errors.Is(err, syscall.ESRCH) { // it has just ended
		return exit.Failed("cannot reach the agent, process %d: %w", agent.PID, err)
	}
	return a.awaitEnd(ctx, found, agent)
}

// awaitEnd waits until the process of an agent has ended.
func (a *app) awaitEnd(ctx context.Context, found *client.Engine, agent process.ID) error {
	ctx, stop := a.Stoppable(ctx)
	defer stop()
	tell := a.sayWaiting(ctx, found.Server, "", ui.Plain)
	defer tell()
	ended := agent.Ended()
	for agent.Running() {
		var again <-chan time.Time
		if ended == nil { // the system does not report it
			again = time.After(agentPause)
		}
		select {
		case <-ctx.Done():
			a.Say("the agent is stopping; not waiting for its end")
			return exit.Stopped(ctx, context.Cause(ctx))
		case <-ended:
			return nil
		case <-again:
		}
	}
	return nil
}

func wordsOf(a *app, dataDir string, found *client.Engine) *resident.Words {
	w := resident.NewWords(a.Console, dataDir, found.Server.Socket)
	w.Address, w.Token = found.Self.Address, ""
	if w.Address == "" || found.Self.Open {
		return w
	}
	if text, err := resident.ReadLimited(filepath.Join(dataDir, "agent", "token")); err == nil {
		w.Token = strings.TrimSpace(string(text))
	}
	return w
}

// agentPause is the pause between two looks for an agent: nothing announces it.
const agentPause = 20 * time.Millisecond
