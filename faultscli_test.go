package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/recording"
)

// command does through the API what a command of the nomad CLI does, and prints
// the same.
func (p *player) command(line string) recording.Command {
	p.Helper()
	words, stdin := split(line)
	flags, args := map[string]string{}, []string{}
	verb := words[1]
	for i := 2; i < len(words); i++ {
		name, value, given := strings.Cut(words[i], "=")
		switch {
		case len(args) > 0 || !strings.HasPrefix(name, "-"):
			args = append(args, words[i]) // the rest belongs to the first argument
		case given || slices.Contains([]string{"-detach", "-force", "-all-tasks", "-i", "-stat", "-tail"}, name):
			flags[name] = value
		default:
			i++
			flags[name] = words[i]
		}
	}
	c := cli{player: p, flags: flags, args: args, stdin: stdin}
	if i := slices.Index(args, "$ALLOC"); i >= 0 {
		c.alloc = p.running()
	}
	err := map[string]func() error{
		"alloc exec": c.exec, "alloc signal": c.signal, "alloc restart": c.restart, "alloc stop": c.stop,
		"alloc fs": c.fs, "alloc logs": c.logs, "alloc checks": c.checks,
		"job action": c.action, "job status": c.status, "job run": c.run, "var put": c.put,
	}[words[0]+" "+verb]()
	if err != nil {
		c.code = 1
		fmt.Fprintf(&c.stderr, "%v\n", err)
	}
	return recording.Command{Line: line, Code: c.code, Stdout: c.stdout.String(), Stderr: c.stderr.String()}
}

// cli is one call of the nomad CLI.
type cli struct {
	*player
	alloc          *api.Allocation
	flags          map[string]string
	args           []string
	stdin          string
	code           int
	stdout, stderr strings.Builder
}

// split splits a line into words and stdin. Quoted words may contain spaces.
func split(line string) (words []string, stdin string) {
	line, stdin, _ = strings.Cut(line, " <<< ")
	for line != "" {
		var word string
		if quoted, ok := strings.CutPrefix(line, `"`); ok {
			word, line, _ = strings.Cut(quoted, `"`)
			line = strings.TrimPrefix(line, " ")
		} else {
			word, line, _ = strings.Cut(line, " ")
		}
		words = append(words, word)
	}
	return words, stdin
}

// running returns the running allocation.
func (p *player) running() *api.Allocation {
	p.Helper()
	list, _ := p.allocs(nil)
	for _, stub := range list {
		if stub.ClientStatus == api.AllocClientStatusRunning {
			info, _, err := p.client.Allocations().Info(stub.ID, nil)
			if err != nil {
				p.Fatal(err)
			}
			return info
		}
	}
	p.Fatal("no allocation runs")
	return nil
}

// task returns the named task, or the only one; "" if there is none.
func (c *cli) task(name string) (string, error) {
	var names []string
	for _, g := range c.alloc.Job.TaskGroups {
		if *g.Name == c.alloc.TaskGroup {
			for _, t := range g.Tasks {
				names = append(names, t.Name)
			}
		}
	}
	if name != "" && !slices.Contains(names, name) {
		return "", fmt.Errorf("Could not find task named: %s, found:\n%s", name, strings.Join(names, "\n"))
	}
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	return name, nil
}

func (c *cli) exec() error {
	task, err := c.task(c.flags["-task"])
	if err != nil {
		return err
	}
	c.code, err = c.client.Allocations().Exec(c.Context(), c.alloc, task, false, c.args[1:], strings.NewReader(c.stdin),
		&c.stdout, &c.stderr, make(chan api.TerminalSize), nil)
	if err != nil {
		return fmt.Errorf("failed to exec into task: %w", err)
	}
	return nil
}

func (c *cli) action() (err error) {
	c.alloc = c.running()
	c.code, err = c.client.Jobs().ActionExec(c.Context(), c.alloc, c.flags["-job"], c.flags["-task"], false, nil, c.args[0],
		strings.NewReader(""), &c.stdout, &c.stderr, make(chan api.TerminalSize), nil)
	if err != nil {
		return fmt.Errorf("failed to exec into task: %w", err)
	}
	return nil
}

func (c *cli) signal() error {
	task, name := "", "SIGKILL"
	if s := c.flags["-s"]; s != "" {
		name = s
	}
	if len(c.args) > 1 {
		var err error
		if task, err = c.task(c.args[1]); err != nil {
			return err
		}
	}
	if err := c.client.Allocations().Signal(c.alloc, nil, task, name); err != nil {
		return fmt.Errorf("Error signalling allocation: %w", err)
	}
	return nil
}

func (c *cli) restart() error {
	if _, all := c.flags["-all-tasks"]; all {
		if err := c.client.Allocations().RestartAllTasks(c.alloc, nil); err != nil {
			return fmt.Errorf("Failed to restart allocation:\n\n%w", err)
		}
		return nil
	}
	task, err := c.task(c.args[1])
	if err != nil {
		return err
	}
	if err := c.client.Allocations().Restart(c.alloc, task, nil); err != nil {
		return fmt.Errorf("Failed to restart task:\n\n%w", err)
	}
	return nil
}

func (c *cli) stop() error {
	answer, err := c.client.Allocations().Stop(c.alloc, &api.QueryOptions{Params: map[string]string{"reschedule": "true"}})
	if err != nil {
		return fmt.Errorf("Error stopping allocation: %w", err)
	}
	fmt.Fprintln(&c.stdout, answer.EvalID)
	return nil
}

func (c *cli) run() error {
	c.deployed()
	answer, _, err := c.client.Jobs().Register(c.parse(c.args[0]), nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(&c.stdout, "Job registration successful\nEvaluation ID: %s\n", answer.EvalID)
	return nil
}

func (c *cli) put() error {
	items := api.VariableItems{}
	for _, item := range c.args[1:] {
		key, value, _ := strings.Cut(item, "=")
		items[key] = value
	}
	v, _, err := c.client.Variables().Create(&api.Variable{Path: c.args[0], Items: items}, nil)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(v, "", "  ")
	fmt.Fprintf(&c.stdout, "%s\n", text)
	return err
}

func (c *cli) fs() error {
	path := c.args[1]
	info, _, err := c.client.AllocFS().Stat(c.alloc, path, nil)
	if err != nil {
		return err
	}
	if _, stat := c.flags["-stat"]; stat {
		c.table([]string{"Mode", "Size", "Modified Time", "Content Type", "Name"}, row(info, info.ContentType))
		return nil
	}
	if !info.IsDir {
		return c.copy(c.client.AllocFS().Cat(c.alloc, path, nil))
	}
	list, _, err := c.client.AllocFS().List(c.alloc, path, nil)
	rows := [][]string{{"Mode", "Size", "Modified Time", "Name"}}
	for _, info := range list {
		rows = append(rows, row(info))
	}
	c.table(rows...)
	return err
}

// row formats a file of a directory.
func row(info *api.AllocFileInfo, more ...string) []string {
	name := info.Name
	if info.IsDir {
		name += "/"
	}
	size := fmt.Sprintf("%.1f KiB", float64(info.Size)/1024)
	return append(append([]string{info.FileMode, size, info.ModTime.Format(time.RFC3339)}, more...), name)
}

func (c *cli) table(rows ...[]string) {
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], len(cell))
		}
	}
	for _, r := range rows {
		text := ""
		for i, cell := range r {
			text += fmt.Sprintf("%-*s  ", width[i], cell)
		}
		fmt.Fprintln(&c.stdout, strings.TrimRight(text, " "))
	}
}

func (c *cli) copy(r io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(&c.stdout, r)
	return errors.Join(err, r.Close())
}

// logs prints the last line.
func (c *cli) logs() error {
	err := c.copy(c.client.AllocFS().Cat(c.alloc, "alloc/logs/"+c.args[1]+".stdout.0", nil))
	lines := strings.SplitAfter(strings.TrimSuffix(c.stdout.String(), "\n"), "\n")
	c.stdout.Reset()
	fmt.Fprintln(&c.stdout, lines[len(lines)-1])
	return err
}

func (c *cli) checks() error {
	checks, err := c.client.Allocations().Checks(c.alloc.ID, nil)
	fmt.Fprintf(&c.stdout, "Status of %d Nomad Service Checks\n\n", len(checks))
	return err
}

func (c *cli) status() error {
	list, _, err := c.client.Jobs().PrefixList(c.args[0])
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("No job(s) with prefix or ID %q found", c.args[0])
	}
	return err
}
