package cmd

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/config"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/jobspec/diagnostic"
)

// commandHabits maps commands of other programs to the taskrun command line
// that does the same.
var commandHabits = map[string]string{
	"top": "stats", "kill": "stop --kill", "ls": "ps", "list": "ps", "rm": "clean", "check": "validate", "shell": "exec TARGET -- sh", "alloc fs": "cp",
}

// nomadGroups are the commands of nomad that are followed by another one. true: those
// are commands of taskrun, too.
var nomadGroups = map[string]bool{
	"job": true, "alloc": true, "deployment": true,
	"acl": false, "config": false, "eval": false, "namespace": false, "node": false, "operator": false, "scaling": false,
	"server": false, "service": false, "system": false, "var": false, "volume": false,
}

// flagHabits maps flags of other programs to the way taskrun does the same.
var flagHabits = map[string]string{
	"dry-run": "to do a dry run: taskrun rehearse", "json": "for JSON: --output json", "quiet": "for less: --output quiet",
	"yes": "leave it out: taskrun asks only before it removes data",
	"tty": "--tty is for taskrun exec and taskrun action", "interactive": "--interactive is for taskrun exec and taskrun action",
}

// unknownCommand returns the error for arguments of the bare command.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := exit.Usage("unknown command %q", args[0])
	if _, statErr := os.Stat(args[0]); statErr == nil {
		return err.WithHint("to run a job file: taskrun up %s", args[0])
	}
	if habit := cmp.Or(commandHabits[args[0]], commandHabits[strings.Join(args[:min(2, len(args))], " ")]); habit != "" {
		return err.WithHint("use: taskrun %s", habit)
	}
	if shared, ok := nomadGroups[args[0]]; ok {
		if own, _, findErr := cmd.Find(args[1:]); shared && findErr == nil && own != cmd {
			return err.WithHint("use: taskrun %s", own.Name())
		}
		return err.WithHint("the nomad CLI works with a run, too; see: taskrun help api")
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	if near := nearestName(args[0], names); near != "" {
		return err.WithHint("did you mean %q?", near)
	}
	return err.WithHint("see: taskrun --help")
}

// nearestName returns the name that a word misspells or begins, or "".
func nearestName(word string, names []string) string {
	if near := diagnostic.Nearest(word, names); near != "" {
		return near
	}
	begins := func(name string) bool { return word != "" && strings.HasPrefix(name, word) }
	if i := slices.IndexFunc(names, begins); i >= 0 {
		return names[i]
	}
	return ""
}

func wrongFlag(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := wrong.GetFlag()
		return seeHelp(cmd, exit.Usage("cannot use --%s: %w", f.Name, config.Plain(f, wrong.GetValue(), wrong.Unwrap())))
	}
	if words := cmd.Flags().Args(); !cmd.HasParent() && len(words) > 0 {
		return unknownCommand(cmd, words) // the flag may be one of its own
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return seeHelp(cmd, exit.Usage("%w", err))
	}
	name := unknown.GetSpecifiedName()
	e := exit.Usage("%w", err)
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		if strings.Trim(letters, "it") == "" {
			return e.WithHint("-i and -t are for taskrun exec and taskrun action")
		}
		if len(letters) < 3 {
			return seeHelp(cmd, e)
		}
		name = letters // as nomad spells it
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	near := diagnostic.Nearest(name, names)
	if slices.Contains(names, name) { // with one dash
		near = name
	}
	if near != "" {
		return e.WithHint("did you mean --%s?", near)
	}
	if habit := flagHabits[name]; habit != "" {
		return e.WithHint("%s", habit)
	}
	return seeHelp(cmd, e)
}

func seeHelp(cmd *cobra.Command, e *exit.Error) *exit.Error {
	return e.WithHint("see: %s --help", cmd.CommandPath())
}

// wrongCall returns an error found before the command started to work.
func wrongCall(cmd *cobra.Command, err error) error {
	if _, ok := errors.AsType[*exit.Error](err); ok {
		return err
	}
	return seeHelp(cmd, exit.Usage("%w", err))
}

// singleDash lists the flags that Nomad users write with one dash.
var singleDash = append([]string{
	"var", "var-file", "check", "recursive", "task", "job", "tail", "stderr", "stdout", "address", "meta", "purge", "detach", "no-shutdown-delay", "http-auth", "config", "dev", "no-token", "data-dir", "log-level",
}, lookup.ClusterFlags...)

// nomadSpelling accepts Nomad's single-dash spelling of flags, and its flag for the
// version. It leaves the words of a command to execute alone: everything after "--"
// and, for exec, after the first word that is no flag's value.
func nomadSpelling(args []string) []string {
	if len(args) == 1 && slices.Contains([]string{"--version", "-version", "-v"}, args[0]) {
		return []string{"version"}
	}
	out := slices.Clone(args)
	executes := false
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if executes && !strings.HasPrefix(arg, "-") && (!strings.HasPrefix(args[i-1], "-") || strings.Contains(args[i-1], "=")) {
			break
		}
		executes = executes || arg == "exec"
		name, _, _ := strings.Cut(arg, "=")
		if flag, ok := strings.CutPrefix(name, "-"); ok && slices.Contains(singleDash, flag) {
			out[i] = "-" + arg
		}
	}
	return out
}
