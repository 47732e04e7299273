package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taskrun/cmd/verify"
)

// taskrun is the runner under test, with one of its views.
func taskrun(path, view string) runner {
	return runner{name: "taskrun", path: path, file: jobFile, args: func(dir, file string) []string {
		return []string{"up", "--output", view, "--data-dir", filepath.Join(dir, "data"), file}
	}, exec: func(command []string) []string {
		return append([]string{path, "exec", "t0", "--"}, command...)
	}}
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
		nomad(os.Getenv("NOMAD")),
	}
	return slices.DeleteFunc(all, func(r runner) bool { return r.path == "" })
}

// nomad is a real Nomad: the command submits a job to an agent in dev mode,
// which is already running and listens only on the loopback interface.
func nomad(path string) runner {
	var address string
	jobs := 0
	return runner{
		name: "nomad", path: path,
		agent: func() (stop func(), err error) {
			dir, err := os.MkdirTemp("", "bench")
			if err != nil {
				return nil, err
			}
			ctx := context.Background()
			agent, err := verify.StartAgent(ctx, verify.Start{Nomad: path, Env: os.Environ(), Dir: dir, Wait: patience})
			if err != nil {
				return nil, errors.Join(err, os.RemoveAll(dir))
			}
			address = agent.Server.Address
			return func() { _ = errors.Join(agent.Stop(ctx), os.RemoveAll(dir)) }, nil
		},
		file: func(tasks []string) string {
			jobs++ // the agent would only update a job that has ended
			return strings.Replace(jobFile(tasks), `"bench"`, fmt.Sprintf(`"bench%d"`, jobs), 1)
		},
		args: func(_, file string) []string {
			return []string{"job", "run", "-detach", "-address=" + address, file}
		},
		exec: func(command []string) []string {
			job := fmt.Sprintf("bench%d", jobs)
			return append([]string{path, "alloc", "exec", "-t=false", "-address=" + address, "-task", "t0", "-job", job}, command...)
		},
	}
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
