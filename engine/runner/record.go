package runner

import (
	"encoding/json"
	"time"

	"github.com/hashicorp/nomad/api"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/engine/health"
	"taskrun/engine/lifecycle"
	"taskrun/engine/store"
)

// allocRecord is what is stored of an allocation, besides its tasks.
type allocRecord struct {
	Created     time.Time        `json:"created"`
	Status      string           `json:"status"`
	Description string           `json:"description"`
	Machine     lifecycle.Memory `json:"machine"`
	Health      health.Verdict   `json:"health,omitempty"`
	Deployment  string           `json:"deployment,omitempty"` // that it is for
	Watching    bool             `json:"watching,omitempty"`
	Watch       health.Watch     `json:"watch,omitzero"`
	Forced      string           `json:"forced,omitempty"`
	Over        bool             `json:"over,omitempty"` // Run has returned
}

// taskRecord is what is stored of a task over all its starts.
type taskRecord struct {
	State     api.TaskState  `json:"state"`
	ExitCode  *int           `json:"exit_code,omitempty"`
	Modified  time.Time      `json:"modified"`
	Mark      lifecycle.Mark `json:"mark,omitzero"`
	Progress  progress       `json:"progress"`
	Failed    bool           `json:"failed,omitempty"` // by a hook
	OverLimit string         `json:"over_limit,omitempty"`
	Told      []string       `json:"told,omitempty"`
}

// startRecord is what is stored of a start of a task before it happens.
type startRecord struct {
	drivers.TaskConfig
	// These replace fields of the TaskConfig that have no form on disk.
	Env       map[string]store.Text
	DeviceEnv map[string]store.Text
	Config    json.RawMessage
	Output    *struct{} `json:",omitempty"`
	Unwanted  *struct{} `json:",omitempty"`
}

// handleRecord is what is stored of a start of a task when it has happened.
type handleRecord struct {
	Version     int               `json:"version"`
	State       drivers.TaskState `json:"state"`
	DriverState []byte            `json:"driver_state"`
	Network     *drivers.Network  `json:"network,omitempty"`
}

// hooksRecord is what is stored of a task's hooks.
type hooksRecord struct {
	Hooks      map[string]gifts  `json:"hooks"`
	VaultToken string            `json:"vault_token,omitempty"`
	Identities map[string]string `json:"identities,omitempty"`
}

// The keys below which all that is left to do for an allocation is stored.
const (
	allocKey  = "alloc"
	taskKey   = "task"
	startKey  = "start"
	handleKey = "handle"
	hooksKey  = "hooks"
)

func (t *task) key(kind string) store.Key { return store.KeyOf(kind, t.alloc.cfg.Alloc.ID, t.name) }

// Forget adds to a change that nothing of an allocation is stored any more.
func Forget(c *store.Change, id string) {
	for _, kind := range []string{allocKey, taskKey, startKey, handleKey, hooksKey} {
		c.DropAll(store.KeyOf(kind, id))
	}
	c.ForgetAlloc(id)
}

func newStartRecord(cfg *drivers.TaskConfig) (*startRecord, error) {
	config, err := ctyjson.Marshal(cfg.Config, cty.DynamicPseudoType)
	if err != nil {
		return nil, err
	}
	return &startRecord{TaskConfig: *cfg, Env: texts[store.Text](cfg.Env), DeviceEnv: texts[store.Text](cfg.DeviceEnv), Config: config}, nil
}

// config is what the task was, or was to be, started with, but for its output.
func (r *startRecord) config() (*drivers.TaskConfig, error) {
	cfg := r.TaskConfig
	cfg.Env, cfg.DeviceEnv = texts[string](r.Env), texts[string](r.DeviceEnv)
	var err error
	cfg.Config, err = ctyjson.Unmarshal(r.Config, cty.DynamicPseudoType)
	return &cfg, err
}

// texts converts the values of a map; nil stays nil.
func texts[To, From ~string](m map[string]From) map[string]To {
	if m == nil {
		return nil
	}
	out := make(map[string]To, len(m))
	for k, v := range m {
		out[k] = To(v)
	}
	return out
}

// touch has the task stored at the end of the turn.
func (t *task) touch() {
	if a := t.alloc; a.recorder.Durable() && !t.touched {
		t.touched = true
		a.turn.tasks = append(a.turn.tasks, t)
	}
}

// put adds a value of the task to the turn.
func (t *task) put(kind string, value any) {
	if t.alloc.recorder.Durable() {
		t.alloc.turn.change.Put(t.key(kind), value)
	}
}

// store adds what has changed in this turn to what is stored.
func (a *Alloc) store() {
	if !a.recorder.Durable() {
		return
	}
	c := &a.turn.change
	for _, t := range a.turn.tasks {
		t.touched = false
		c.Put(t.key(taskKey), taskRecord{
			State: t.state, ExitCode: t.exitCode, Modified: a.modified, Mark: a.machine.Mark(t.index), Progress: t.reached,
			Failed: t.failed, OverLimit: t.overLimit, Told: t.told,
		})
	}
	a.turn.tasks = a.turn.tasks[:0]
	if now := newAllocRecord(a); now != a.stored {
		a.stored = now
		c.Put(store.KeyOf(allocKey, a.cfg.Alloc.ID), now)
	}
}

func newAllocRecord(a *Alloc) allocRecord {
	r := allocRecord{
		Created: a.created, Status: a.status, Description: a.description, Machine: a.machine.Memory(),
		Health: a.health.verdict, Deployment: a.cfg.Deployment, Forced: a.forced, Over: a.ended,
	}
	if a.health.watch != nil {
		r.Watching, r.Watch = true, *a.health.watch
	}
	return r
}
