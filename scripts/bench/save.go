package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

const (
	saves = 20
	// pause is how long nothing happens between two saves.
	pause = 300 * time.Millisecond
)

// saved measures the time from a save to the first act of the new task, of a run
// that follows its files. The task stops at once. The build takes no time.
func saved(_ options, dir string, runners []runner) ([]measure, error) {
	var all []measure
	for _, c := range []struct{ what, file, build string }{
		{"save of the job file to the new task's act", "job.nomad.hcl", ""},
		{"save of a source to the new task's act", "main.src", ""},
		{"the same, with a build of no duration", "main.src", `build = ["true"]`},
	} {
		times, err := saveTimes(dir, runners[0].path, c.file, c.build)
		if err != nil {
			return nil, err
		}
		for what, value := range map[string]float64{c.what: median(times), c.what + ", slowest": slices.Max(times)} {
			all = append(all, measure{
				what: what, format: milliseconds, values: map[string]float64{"taskrun": value}, budgets: []budget{{"", 0.15}},
			})
		}
	}
	slices.SortFunc(all, func(a, b measure) int { return len(a.what) - len(b.what) })
	return all, nil
}

// saveTimes saves a file several times, in place and by a rename in turns, and
// returns the seconds until the new task acts.
func saveTimes(dir, taskrun, file, build string) ([]float64, error) {
	bell, err := newBell(dir)
	if err != nil {
		return nil, err
	}
	defer bell.close()
	dir = bell.dir
	texts := map[string]func(n int) string{
		"job.nomad.hcl": func(n int) string {
			return fmt.Sprintf("job \"saved\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"raw_exec\"\n      config {\n        command = \"/bin/sh\"\n"+
				"        args    = [\"-c\", %q]\n      }\n      env {\n        N = %d\n      }\n    }\n  }\n}\n", bell.ring()+"; exec sleep 1000", n)
		},
		"taskrun.hcl": func(int) string {
			return "task \"t\" {\n  watch {\n    paths = [\"**/*.src\"]\n    " + build + "\n  }\n}\n"
		},
		"main.src": func(n int) string { return fmt.Sprintln(n) },
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text(0)), 0o600); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(taskrun, "up", "--watch", "--data-dir", filepath.Join(dir, "data"), filepath.Join(dir, "job.nomad.hcl"))
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer stop(cmd)
	if _, err := bell.wait(1); err != nil {
		return nil, err
	}
	var times []float64
	path := filepath.Join(dir, file)
	for n := range saves {
		<-time.After(pause)
		written := path
		if n%2 > 0 {
			written += ".new"
		}
		text := []byte(texts[file](n + 1))
		began := time.Now()
		if err := os.WriteFile(written, text, 0o600); err != nil {
			return nil, err
		}
		if err := os.Rename(written, path); err != nil {
			return nil, err
		}
		at, err := bell.wait(len("\n"))
		if err != nil {
			return nil, err
		}
		times = append(times, at.Sub(began).Seconds())
	}
	return times, nil
}
