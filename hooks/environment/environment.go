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
	Alloc string   `json:"alloc_id"`
	Task  string   `json:"task"`
	Env   []string `json:"env"` // sorted NAME=value
}

// Limits of an environment that is kept.
const (
	maxValue   = 4 << 10 // of a variable
	maxEntries = 10      // of a task whose environment changes with each start
)

type hook struct {
	task    hooks.Task
	given   []string
	file    string
	entries int
	last    uint64 // hash of the latest entry
}

// New returns a factory of hooks. Values that contain one of the given values, which
// come from outside of the job file, are not kept.
func New(given []string) hooks.TaskFactory {
	return func(t hooks.Task) hooks.TaskHook {
		return &hook{task: t, given: given, file: filepath.Join(filepath.Dir(filepath.Dir(t.AllocDir)), File)}
	}
}

// Name returns the name of the hook.
func (h *hook) Name() string { return "environment" }

var seed = maphash.MakeSeed()

// Poststart keeps the environment if it differs from the previous start. An error
// does not fail the task.
func (h *hook) Poststart(_ context.Context, req *hooks.PoststartRequest) error {
	if h.entries == maxEntries || req.Env == nil {
		return nil
	}
	line, err := json.Marshal(Entry{h.task.Alloc.ID, h.task.Task.Name, Public(req.Env, h.task.Task.Env, h.given)})
	if err != nil {
		return fmt.Errorf("cannot keep the environment: %w", err)
	}
	if sum := maphash.Bytes(seed, line); sum != h.last {
		h.last = sum
		h.entries++
		appendLine(h.file, append(line, '\n'))
	}
	return nil
}

// appendLine appends a line to a file, if it can, with a single write, so that
// lines of concurrent calls stay whole.
func appendLine(path string, line []byte) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(line)
	_ = f.Close()
}

// knownVariables are variables of the host and of Nomad whose values are no secrets.
var knownVariables = []string{
	"NOMAD_SECRETS_DIR", "HOME", "HOSTNAME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "TMPDIR", "TZ", "USER",
}

// secretWords are parts of the names of variables that may have secrets.
var secretWords = []string{
	"ACCESS", "AUTH", "CERT", "COOKIE", "CREDENTIAL", "DSN", "KEY", "PASS", "PRIVATE", "PSW", "PW", "SALT", "SECRET", "SESSION", "SIGNATURE", "TOKEN",
}

// Public returns the variables of a task with its env block, as sorted NAME=value.
// Values that may be secrets are redact.Hidden: only those are kept that the job file
// has, that come from Nomad, or that are known variables of the host. Of the job file,
// values with one of the given values are hidden as well.
func Public(env *taskenv.Env, block map[string]string, given []string) []string {
	p := publisher{env, make(map[string]string, len(block)), given}
	for name, raw := range block {
		p.block[taskenv.CleanName(name)] = raw
	}
	list := env.List() // a copy
	for i, variable := range list {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case !p.public(name, value, 0):
			list[i] = name + "=" + redact.Hidden
		case len(value) > maxValue:
			list[i] = fmt.Sprintf("%s=%d bytes", name, len(value))
		case strings.Contains(value, "://"):
			list[i] = name + "=" + redact.Text(value)
		}
	}
	return list
}

type publisher struct {
	env   *taskenv.Env
	block map[string]string // as the job file has it
	given []string
}

// maxDepth limits how deeply variables refer to each other.
const maxDepth = 5

// public reports whether a variable has no secret.
func (p publisher) public(name, value string, depth int) bool {
	raw, inBlock := p.block[name]
	switch {
	case !inBlock && slices.Contains(knownVariables, name):
		return true
	case depth > maxDepth, hasSecretWord(name):
		return false
	case (inBlock || strings.HasPrefix(name, "NOMAD_META_")) && slices.ContainsFunc(p.given, func(s string) bool { return strings.Contains(value, s) }):
		return false
	case !inBlock:
		return strings.HasPrefix(name, "NOMAD_") || strings.HasPrefix(name, "LC_")
	case p.env.Replace(raw) != value: // a hook or a template has set it
		return false
	}
	for reference := range taskenv.References(raw) {
		value, known := p.env.Lookup(reference)
		if _, open := p.env.LookupOpen(reference); known && (!open || !ofNode(reference) && !p.public(reference, value, depth+1)) {
			return false
		}
	}
	return true
}

func hasSecretWord(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(upper, word) })
}

// ofNode reports whether a reference is no variable, but a value of the node or of
// the job's meta.
func ofNode(reference string) bool {
	return slices.ContainsFunc([]string{"node.", "attr.", "meta."}, func(p string) bool { return strings.HasPrefix(reference, p) }) && !hasSecretWord(reference)
}
