package cmd

import (
	"slices"

	"github.com/spf13/cobra"
)

// commandGroups are the parts of the list of commands.
var commandGroups = []*cobra.Group{
	{ID: "run", Title: "Run jobs:"},
	{ID: "check", Title: "Check job files:"},
	{ID: "see", Title: "Show runs:"},
	{ID: "act", Title: "Control runs:"},
	{ID: "other", Title: "Other commands:"},
}

type namedCommand struct {
	name, group string
	construct   func(*app) *cobra.Command
}

// allCommands returns the commands in the order of help, then the hidden ones.
func allCommands() []namedCommand {
	return []namedCommand{
		{"up", "run", newUpCommand},
		{"agent", "run", newAgentCommand},
		{"rehearse", "run", newRehearseCommand},
		{"plan", "run", newPlanCommand},
		{"update", "run", newUpdateCommand},
		{"verify", "run", newVerifyCommand},

		{"validate", "check", newValidateCommand},
		{"test", "check", newTestCommand},
		{"inspect", "check", newInspectCommand},
		{"fmt", "check", newFmtCommand},
		{"stubs", "check", newStubsCommand},

		{"ps", "see", newPsCommand},
		{"logs", "see", newLogsCommand},
		{"events", "see", newEventsCommand},
		{"trace", "see", newTraceCommand},
		{"stats", "see", newStatsCommand},
		{"port", "see", newPortCommand},
		{"env", "see", newEnvCommand},
		{"attach", "see", newAttachCommand},
		{"ui", "see", newUICommand},
		{"runs", "see", newRunsCommand},
		{"diff", "see", newDiffCommand},

		{"exec", "act", newExecCommand},
		{"action", "act", newActionCommand},
		{"stop", "act", newStopCommand},
		{"start", "act", newStartCommand},
		{"restart", "act", newRestartCommand},
		{"signal", "act", newSignalCommand},
		{"dispatch", "act", newDispatchCommand},
		{"scale", "act", newScaleCommand},
		{"promote", "act", newPromoteCommand},
		{"revert", "act", newRevertCommand},
		{"cp", "act", newCpCommand},
		{"open", "act", newOpenCommand},

		{"export", "other", newExportCommand},
		{"clean", "other", newCleanCommand},
		{"version", "other", newVersionCommand},

		{"local", "", newLocalCommand},
		{"engine", "", newEngineCommand},
		{"test-worker", "", newTestWorkerCommand},
	}
}

// construct returns the command that the first argument names. Without one it
// returns all, which takes longer: they have many flags.
func construct(a *app, args []string) []*cobra.Command {
	wanted := allCommands()
	if len(args) > 0 {
		if i := slices.IndexFunc(wanted, func(c namedCommand) bool { return c.name == args[0] }); i >= 0 {
			wanted = wanted[i : i+1]
		}
	}
	var list []*cobra.Command
	for _, c := range wanted {
		command := c.construct(a)
		command.GroupID = c.group
		list = append(list, command)
	}
	return list
}
