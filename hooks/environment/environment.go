// Package environment is the task hook that keeps the environment of a task with
// its run, without secrets, so that two runs can be compared. Nomad's client has no
// such hook.
package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"taskrun/hooks"
	"taskrun/jobspec/redact"
	"taskrun/jobspec/taskenv"
)

// File is the file in the directory of a run. Each line is an Entry; the last one of
// a task counts.
const File = "environment.json"

// Entry is the environment of a task from one of its starts on.
type Entry struct {
	Alloc string            `json:"alloc_id"`
	Task  string            `json:"task"`
	Env   map[string]string `json:"env"`
}

// Limits of what is kept.
const (
	maxValue   = 4 << 10 // of a variable
	maxEntries = 10      // of a task whose environment changes with each start
)

type hook struct {
	task    hooks.Task
	file    string
	entries int
	last    uint64 // hash of the latest entry
}

// New returns the hook of a task.
func New(t hooks.Task) hooks.TaskHook {
	return &hook{task: t, file: filepath.Join(filepath.Dir(filepath.Dir(t.AllocDir)), File)}
}

// Name returns the name of the hook.
func (h *hook) Name() string { return "environment" }

var seed = maphash.MakeSeed()

// Poststart keeps the environment, if it is another one than at the start before.
// An error is none of the task: the run is not worse for it.
func (h *hook) Poststart(_ context.Context, req *hooks.PoststartRequest) error {
	if h.entries == maxEntries || req.Env == nil {
		return nil
	}
	line, err := json.Marshal(Entry{h.task.Alloc.ID, h.task.Task.Name, Public(req.Env, h.task.Task.Env)})
	if err != nil {
		return fmt.Errorf("cannot keep the environment: %w", err)
	}
	if sum := maphash.Bytes(seed, line); sum != h.last {
		h.last = sum
		h.entries++
		_ = appendLine(h.file, append(line, '\n'))
	}
	return nil
}

// appendLine appends a line to a file, with a single write, so that lines of
// concurrent calls stay whole.
func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// knownVariables are variables of the host and of Nomad whose values are no secrets.
var knownVariables = []string{
	"NOMAD_SECRETS_DIR", "HOME", "HOSTNAME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "TMPDIR", "TZ", "USER",
}

// secretWords are parts of the names of variables that may have secrets.
var secretWords = []string{
	"ACCESS", "AUTH", "CERT", "COOKIE", "CREDENTIAL", "DSN", "KEY", "PASS", "PRIVATE", "PSW", "PW", "SALT", "SECRET", "SESSION", "SIGNATURE", "TOKEN",
}

// Public returns the variables of a task with its env block. Values that may be
// secrets are redact.Hidden: only those are kept that the job file has, that come
// from Nomad, or that are known variables of the host.
func Public(env *taskenv.Env, block map[string]string) map[string]string {
	all := env.Map()
	p := publisher{env, all, make(map[string]string, len(block))}
	for name, raw := range block {
		p.block[taskenv.CleanName(name)] = raw
	}
	public := make(map[string]string, len(all))
	for name, value := range all {
		public[name] = redact.Hidden
		if p.public(name, 0) {
			public[name] = redact.Text(value)
			if len(value) > maxValue {
				public[name] = fmt.Sprintf("%d bytes", len(value))
			}
		}
	}
	return public
}

type publisher struct {
	env   *taskenv.Env
	all   map[string]string
	block map[string]string // as the job file has it
}

// maxDepth limits how deeply variables refer to each other.
const maxDepth = 5

// public reports whether a variable has no secret.
func (p publisher) public(name string, depth int) bool {
	raw, inBlock := p.block[name]
	switch upper := strings.ToUpper(name); {
	case !inBlock && slices.Contains(knownVariables, name):
		return true
	case depth > maxDepth, slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(upper, word) }):
		return false
	}
	if !inBlock {
		return strings.HasPrefix(name, "NOMAD_") || strings.HasPrefix(name, "LC_")
	}
	if p.env.Replace(raw) != p.all[name] { // a hook or a template has set it
		return false
	}
	for reference := range taskenv.References(raw) {
		if _, known := p.env.Lookup(reference); !known {
			continue
		}
		if _, open := p.env.LookupOpen(reference); !open {
			return false
		}
		if _, variable := p.all[reference]; variable && !p.public(reference, depth+1) {
			return false
		}
	}
	return true
}
