package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A runner is a program that runs tasks, each a line for sh, until they have
// ended.
type runner struct {
	name  string
	path  string
	file  func(tasks []string) string     // the text of its file
	args  func(dir, file string) []string // its arguments; dir is empty
	agent bool                            // it hands the tasks to an agent and does not wait for them
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
	}}
}

// shell runs the tasks as background jobs of one sh.
func shell() runner {
	return runner{name: "sh -c", path: "/bin/sh", file: shellScript, args: func(_, file string) []string {
		return []string{file}
	}}
}

// peers are the runners whose paths are given.
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
