package template

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	ct "github.com/hashicorp/consul-template/template"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/safedir"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// Defaults of Nomad's client for templates without a wait block.
const (
	defaultWaitMin = 5 * time.Second
	defaultWaitMax = 4 * time.Minute
)

// denied lists the functions that a template may not call: Nomad's default, and
// two that print to the terminal.
var denied = []string{"executeTemplate", "plugin", "writeToFile", "spew_dump", "spew_printf"}

// Change modes.
const (
	modeNoop    = "noop"
	modeRestart = "restart"
	modeSignal  = "signal"
	modeScript  = "script"
)

// spec is a template block, ready to be rendered.
type spec struct {
	*ct.Template
	text     instrumented
	guard    *guard
	written  string // the destination as in the job file
	dest     string // relative to the allocation directory
	perms    fs.FileMode
	uid, gid int // -1: not set
	once     bool
	env      bool
	change   change

	waitMin, waitMax time.Duration
}

// change is the reaction to a changed template.
type change struct {
	mode   string
	signal string // Nomad's name
	sig    syscall.Signal
	splay  time.Duration
	script *api.ChangeScript
}

// newSpec reads a template block of a canonical job. See Config for unsourced.
func newSpec(t *api.Template, task hooks.Task, env *taskenv.Env, unsourced bool) (*spec, error) {
	s := &spec{
		written: *t.DestPath, once: *t.Once, env: *t.Envvars, uid: owner(t.Uid), gid: owner(t.Gid),
		waitMin: defaultWaitMin, waitMax: defaultWaitMax,
		change: change{mode: *t.ChangeMode, signal: *t.ChangeSignal, splay: *t.Splay, script: t.ChangeScript},
	}
	if s.change.mode == modeSignal {
		sig, err := drivers.ParseSignal(s.change.signal)
		if err != nil {
			return nil, fmt.Errorf("Failed to parse signal %q: %w", s.change.signal, err) //nolint:staticcheck // Nomad's words
		}
		s.change.sig = sig
	}
	if w := t.Wait; w != nil {
		if w.Min != nil {
			s.waitMin, s.waitMax = *w.Min, 4**w.Min
		}
		if w.Max != nil {
			s.waitMax = *w.Max
		}
	}
	mode, err := strconv.ParseUint(*t.Perms, 8, 12)
	if err != nil || mode > 0o777 {
		return nil, fmt.Errorf("%s: perms %q is not an octal mode up to 0777", s.written, *t.Perms)
	}
	s.perms = fs.FileMode(mode)
	dest, escapes := env.ClientPath(s.written, true)
	if escapes {
		return nil, errors.New("template destination path escapes alloc directory")
	}
	if s.dest, err = filepath.Rel(task.AllocDir, dest); err != nil {
		return nil, fmt.Errorf("%s: %w", s.written, err)
	}
	contents := *t.EmbeddedTmpl
	source := ""
	if *t.SourcePath != "" {
		if source, escapes = env.ClientPath(*t.SourcePath, false); escapes {
			return nil, errors.New("template source path escapes alloc directory")
		}
	}
	s.guard = &guard{}
	if task.Chance.Seeded() {
		s.guard.below = func(n int) int {
			return int(task.Chance.Int(int64(n), "template", task.Alloc.ID, task.Task.Name, s.written))
		}
	}
	guarded := func(text string) string {
		s.text = instrument(text, *t.LeftDelim, *t.RightDelim)
		return s.text.text
	}
	functions := envFunctions(env)
	maps.Copy(functions, s.guard.functions())
	s.Template, err = ct.NewTemplate(&ct.NewTemplateInput{
		Source: source, Contents: guarded(contents), Destination: dest,
		LeftDelim: *t.LeftDelim, RightDelim: *t.RightDelim,
		ErrMissingKey: *t.ErrMissingKey, ErrFatal: true,
		ExtFuncMap: functions, FunctionDenylist: denied,
		SandboxPath: filepath.Join(task.AllocDir, task.Task.Name),
		ReaderFunc: func(path string) ([]byte, error) {
			text, err := readPlaced(task.AllocDir, path)
			if unsourced && errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return []byte(guarded(string(text))), err
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.written, err)
	}
	return s, nil
}

// owner returns a uid or gid of a job file. A negative number means none.
func owner(id *int) int {
	if id == nil || *id < 0 {
		return -1
	}
	return *id
}

// readPlaced reads a file of the allocation by its absolute path. No link can
// lead out of the directory of the task, or the shared one, that contains it.
func readPlaced(allocDir, path string) ([]byte, error) {
	rel, err := filepath.Rel(allocDir, path)
	if err != nil {
		return nil, err
	}
	dir := allocdir.At(allocDir)
	defer func() { _ = dir.Close() }()
	root, name, err := dir.Place(rel)
	if err != nil {
		return nil, err
	}
	return safedir.ReadFile(root, name, maxSize)
}
