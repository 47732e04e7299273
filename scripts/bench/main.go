// Bench measures taskrun and other runners in one run on one machine, so that the
// ratios are meaningful even if the numbers are not:
//
//	go run ./scripts/bench
//	HIVEMIND=~/bin/hivemind NOMAD=$(which nomad) go run ./scripts/bench -only act,output
//	HIVEMIND=~/bin/hivemind go run ./scripts/bench -only act,cpu,commands
//
// `sh -c` is always measured; HIVEMIND, GOREMAN, PROCESS_COMPOSE and NOMAD are the
// paths of other runners. TASKRUN is the binary to measure; by default it is built
// from the tree. It reads /proc, so it only works on Linux.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 30, "runs of what takes milliseconds; the median counts")
	flag.IntVar(&o.tasks, "tasks", 1000, "tasks that run at once")
	flag.IntVar(&o.mib, "mib", 256, "output of one task, in MiB")
	only := flag.String("only", "act,cpu,commands,tasks,output,exec,save", "what to measure")
	flag.Parse()
	if err := run(o, strings.Split(*only, ",")); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(o options, parts []string) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := taskrunPath(dir)
	if err != nil {
		return err
	}
	runners := append([]runner{taskrun(path, "plain"), shell()}, peers()...)
	bench := map[string]func(options, string, []runner) ([]measure, error){
		"act": firstAct, "cpu": upOfTrue, "tasks": manyTasks, "output": output, "exec": executions, "commands": commands, "save": saved,
	}
	var all []measure
	for _, part := range parts {
		f, ok := bench[part]
		if !ok {
			return fmt.Errorf("cannot measure %q: unknown", part)
		}
		measures, err := f(o, dir, runners)
		if err != nil {
			return fmt.Errorf("cannot measure %q: %w", part, err)
		}
		all = append(all, measures...)
	}
	return printTable(os.Stdout, all)
}

// taskrunPath returns the path of the binary to measure, built into dir unless
// TASKRUN names one.
func taskrunPath(dir string) (string, error) {
	if path := os.Getenv("TASKRUN"); path != "" {
		return filepath.Abs(path)
	}
	path := filepath.Join(dir, "taskrun")
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-o", path, "taskrun")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // static, like releases
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("cannot build taskrun: %w", err)
	}
	return path, nil
}
