package cmd

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/agent/resident"
	"taskrun/cmd/agent/settings"
	"taskrun/cmd/agent/unit"
	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/ui"
	"taskrun/drivers/process/keeper"
	"taskrun/engine/leaf/scratch"
)

// devPort is the port of "agent -dev", as in Nomad.
const devPort = 4646

type agentOptions struct {
	jobOptions
	machineOptions
	flags   *pflag.FlagSet
	configs []string
	dev     bool
	detach  bool
	http    string
	noToken bool
	hosts   []string
	idle    time.Duration
	level   resident.Level
	unit    string
}

func newAgentCommand(a *app) *cobra.Command {
	opts := agentOptions{level: resident.LevelInfo}
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run an engine that takes jobs from any Nomad client",
		Long: `Run one engine that takes any number of jobs: from "taskrun up --agent", from
the nomad command, and from every other tool that speaks Nomad's HTTP API. It
listens on a socket of this user and, with --http, at a port of this machine.
The port requires a token: a UUID that is kept in the data directory.

Ctrl-C and "taskrun agent stop" stop all tasks as Nomad would, and then the
agent. Its state stays: jobs, their versions, variables, namespaces. The next
agent on the same data directory runs the jobs again that were not stopped.

With --detach the agent runs in the background, and is restarted if it dies; its
tasks keep running. "taskrun agent stop --keep-jobs" leaves the tasks running
for the next "taskrun agent --detach", which may be a later version.

--config reads configuration files of a Nomad agent, and the *.hcl and *.json
files of a directory; what has no effect here is listed. With --dev the agent
listens at port 4646, keeps its data in a temporary directory, and leaves
nothing behind.

Exit codes:
  0    the agent was stopped
  2    the call or a configuration file is wrong
  3    another agent has the data directory
  125  taskrun itself failed`,
		Example: `  taskrun agent --http 127.0.0.1:4646
  taskrun agent --detach --idle-timeout 1h
  taskrun agent -dev -config agent.hcl
  taskrun agent status
  taskrun agent --unit systemd > ~/.config/systemd/user/taskrun-agent.service`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.unit != "" {
				return printUnit(a, opts)
			}
			return runAgent(cmd.Context(), a, opts)
		},
	}
	flags := cmd.Flags()
	opts.flags = flags
	opts.machineOptions.bind(flags)
	opts.bindNeighbors(flags)
	opts.bindMaxAllocs(flags)
	opts.bindStubs(flags)
	flags.StringArrayVar(&opts.configs, "config", nil, "configuration `file` or directory of a Nomad agent (may be repeated)")
	flags.BoolVar(&opts.dev, "dev", false, "keep nothing: data in a temporary directory, port 4646")
	flags.BoolVarP(&opts.detach, "detach", "d", false, "run in the background; return once the agent has started")
	flags.StringVar(&opts.http, "http", "", "also serve Nomad's HTTP API at this `address`, such as 127.0.0.1:4646; requires the token")
	flags.BoolVar(&opts.noToken, "no-token", false, "let every program of this machine use the port")
	flags.StringSliceVar(&opts.hosts, "allow-host", nil, "also accept requests to this `name`, such as host.docker.internal (may be repeated)")
	flags.DurationVar(&opts.idle, "idle-timeout", 0, "end when no job has run and no client has asked for this long")
	bindChoice(cmd, flags, "log-level", "show messages from this level on: debug, info, warn or error",
		ui.Choice[resident.Level]{To: &opts.level, Kind: "level", Values: resident.LogLevels})
	bindChoice(cmd, flags, "unit", "print a service unit for such an agent: systemd or launchd",
		ui.Choice[string]{To: &opts.unit, Kind: "kind", Values: unit.Kinds})
	cmd.AddCommand(newAgentStatusCommand(a), newAgentStopCommand(a))
	return cmd
}

// runAgent runs an agent, or starts one in the background.
func runAgent(ctx context.Context, a *app, opts agentOptions) (err error) {
	garbage.CollectRarely()
	watch := keeper.New()
	background := watch.Detached()
	if background {
		defer func() { tellStart(watch, err) }()
	}
	set, err := a.agentSettings(opts.configs, !background)
	if err != nil {
		return err
	}
	switch {
	case opts.detach && opts.dev:
		return exit.Usage("--dev cannot be combined with --detach: the data of the agent would be lost").WithHint("leave out one of them")
	case opts.idle < 0:
		return exit.Usage("cannot use a negative idle timeout: %v", opts.idle)
	case opts.noToken && opts.address(set) == "":
		return exit.Usage("--no-token requires a port").WithHint("add --http 127.0.0.1:4646")
	}
	dataDir, remove, err := opts.agentData(a, set, watch)
	if err != nil {
		return err
	}
	defer remove()
	if opts.detach && !background {
		return detachAgent(ctx, a, opts.flags, dataDir)
	}
	instead, err := opts.instead(a.drivers())
	if err != nil {
		return err
	}
	level := opts.level
	if set.LogLevel != "" && !opts.flags.Changed("log-level") {
		level = resident.Level(set.LogLevel)
	}
	r, err := resident.New(a.Console, a.runs, a.drivers(), watch, resident.Options{
		Settings: set, DataDir: dataDir, Address: opts.address(set), Open: opts.noToken, Dev: opts.dev, Idle: opts.idle, Level: level,
		Hosts: opts.hosts, StubsFile: opts.stubsFile(), Instead: instead, Neighbors: opts.neighbors, MaxAllocs: int(opts.maxAllocs),
		HostPaths: opts.hostPaths, MemoryMax: opts.memoryMax, Version: currentVersion().Version,
	})
	if err != nil {
		return agentError(err, dataDir)
	}
	return r.Run(ctx)
}

// address returns where the API is served besides the socket, or "".
func (o *agentOptions) address(set settings.Settings) string {
	if o.http != "" {
		return o.http
	}
	port := 0
	if o.dev {
		port = devPort
	}
	return set.HTTPAddress(port)
}

// agentData returns the data directory of an agent. That of --dev is removed at the
// end, even if the agent is killed.
func (o *agentOptions) agentData(a *app, set settings.Settings, watch *keeper.Watch) (dir string, remove func(), err error) {
	given := o.dataDir
	switch {
	case o.dev && !o.flags.Changed("data-dir"): // that of other commands must stay
		given = ""
	case given == "":
		given = set.DataDir
	}
	if given != "" || !o.dev {
		dir, err = a.runs.DataDir(given)
		return dir, func() {}, err
	}
	return scratchData(a, watch)
}

// printUnit prints how a service manager runs an agent with the same flags.
func printUnit(a *app, opts agentOptions) error {
	path, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find this program: %w", err)
	}
	dataDir, err := a.runs.DataDir(opts.dataDir)
	if err != nil {
		return err
	}
	u := unit.Unit{Program: path, Args: flagWords(opts.flags, "unit", "detach"), Log: resident.LogPath(dataDir)}
	_, err = fmt.Fprint(a.Streams.Out, u.Text(opts.unit))
	return err
}

// scratchData returns a data directory that is removed at the end, even if this
// program is killed.
func scratchData(a *app, watch *keeper.Watch) (dir string, remove func(), err error) {
	if dir, err = scratch.Make(); err != nil {
		return "", nil, err
	}
	watch.Scratch(dir)
	return dir, func() {
		if err := scratch.Remove(dir); err != nil {
			a.Report("", fmt.Sprintf("cannot remove the data directory of the agent: %v", err))
		}
	}, nil
}
