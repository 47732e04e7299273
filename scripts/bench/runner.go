package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A runner is a program that runs tasks, which are shell command lines, until
// they have ended.
type runner struct {
	name string
	path string
	file func(tasks []string) string     // the text of its file
	args func(dir, file string) []string // its arguments; dir is empty

	// start starts the runner's agent and returns a function that stops it; nil
	// if the runner has none.
	start func() (stop func(), err error)

	// exec returns the command line that runs a command in the first task; nil
	// if the runner cannot.
	exec func(command []string) []string
}

// command returns the command that runs the tasks, with its files in dir.
func (r runner) command(dir string, tasks []string) (*exec.Cmd, error) {
	file := filepath.Join(dir, "tasks")
	if err := os.WriteFile(file, []byte(r.file(tasks)), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(r.path, r.args(dir, file)...)
	cmd.Dir = dir
	return cmd, nil
}

// taskrun is the runner under test, with one of its views.
func taskrun(path, view string) runner {
	return runner{name: "taskrun", path: path, file: jobFile, args: func(dir, file string) []string {
		return []string{"up", "--output", view, "--data-dir", filepath.Join(dir, "data"), file}
	}, exec: func(command []string) []string {
		return append([]string{path, "exec", "t0", "--"}, command...)
	}}
}

// inTurns calls f n times for each runner. Runners take turns, in another order
// each time, so that a busy moment affects all of them. Those with an agent
// come last and one at a time: the agent is busy even after its tasks have
// ended.
func inTurns(n int, runners []runner, f func(turn int, r runner) error) error {
	alone := func(r runner) bool { return r.start != nil }
	crowd := slices.DeleteFunc(slices.Clone(runners), alone)
	for turn := range n {
		rand.Shuffle(len(crowd), func(i, j int) { crowd[i], crowd[j] = crowd[j], crowd[i] })
		for _, r := range crowd {
			if err := f(turn, r); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	for _, r := range runners {
		if !alone(r) {
			continue
		}
		if err := withAgent(n, r, f); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

func withAgent(n int, r runner, f func(turn int, r runner) error) error {
	stop, err := r.start()
	if err != nil {
		return err
	}
	defer stop()
	for turn := range n {
		if err := f(turn, r); err != nil {
			return err
		}
	}
	return nil
}

// shell runs the tasks as background jobs of one sh.
func shell() runner {
	return runner{name: "sh -c", path: "/bin/sh", file: shellScript, args: func(_, file string) []string {
		return []string{file}
	}, exec: func(command []string) []string {
		return append([]string{"/bin/sh", "-c", `"$@"`, "sh"}, command...)
	}}
}

// peers returns the runners whose paths are set.
func peers() []runner {
	all := []runner{
		{name: "hivemind", path: os.Getenv("HIVEMIND"), file: procfile, args: func(_, file string) []string {
			return []string{file}
		}},
		{name: "goreman", path: os.Getenv("GOREMAN"), file: procfile, args: func(_, file string) []string {
			return []string{"-rpc-server=false", "-f", file, "start"}
		}},
		{name: "process-compose", path: os.Getenv("PROCESS_COMPOSE"), file: composeFile, args: func(_, file string) []string {
			return []string{"-t=false", "--no-server", "--disable-dotenv", "-L", os.DevNull, "-f", file}
		}},
	}
	if path := os.Getenv("NOMAD"); path != "" {
		all = append(all, nomad(path))
	}
	return slices.DeleteFunc(all, func(r runner) bool { return r.path == "" })
}

func shellScript(tasks []string) string {
	if len(tasks) == 1 {
		return tasks[0] + "\n"
	}
	return "(" + strings.Join(tasks, ") &\n(") + ") &\nwait\n"
}

func jobFile(tasks []string) string {
	var b strings.Builder
	b.WriteString("job \"bench\" {\n  type = \"batch\"\n  group \"g\" {\n")
	for i, task := range tasks {
		fmt.Fprintf(&b, `
    task "t%d" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", %q]
      }
    }
`, i, task)
	}
	b.WriteString("  }\n}\n")
	return b.String()
}

func procfile(tasks []string) string {
	var b strings.Builder
	for i, task := range tasks {
		fmt.Fprintf(&b, "t%d: %s\n", i, task)
	}
	return b.String()
}

func composeFile(tasks []string) string {
	var b strings.Builder
	b.WriteString("version: \"0.5\"\nprocesses:\n")
	for i, task := range tasks {
		fmt.Fprintf(&b, "  t%d:\n    command: %q\n", i, task)
	}
	return b.String()
}
