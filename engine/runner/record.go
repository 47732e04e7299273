package runner

import (
	"encoding/json"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"taskrun/drivers"
	"taskrun/engine/lifecycle"
	"taskrun/engine/store"
)

// Prefixes of the keys under which the state of an allocation is stored.
const (
	allocKey  = "alloc"
	taskKey   = "task"
	startKey  = "start"
	handleKey = "handle"
	hooksKey  = "hooks"
)

func (t *task) key(kind string) store.Key { return store.KeyOf(kind, t.alloc.cfg.Alloc.ID, t.name) }

// Forget adds the deletion of all records of an allocation to a change.
func Forget(c *store.Change, id string) {
	for _, kind := range []string{allocKey, taskKey, startKey, handleKey, hooksKey} {
		c.DropAll(store.KeyOf(kind, id))
	}
	c.ForgetAlloc(id)
}

// taskRecord is the stored record of a task, through all its starts.
type taskRecord struct {
	State     api.TaskState  `json:"state"`
	ExitCode  *int           `json:"exit_code,omitempty"`
	Modified  time.Time      `json:"modified"`
	Mark      lifecycle.Mark `json:"mark,omitzero"`
	Progress  progress       `json:"progress"`
	Failed    bool           `json:"failed,omitempty"` // by a hook
	Halted    bool           `json:"halted,omitempty"` // by a user
	OverLimit string         `json:"over_limit,omitempty"`
	Told      []string       `json:"told,omitempty"`
}

// startRecord is the stored record of a start of a task, written before it
// happens.
type startRecord struct {
	drivers.TaskConfig
	// These replace fields of the TaskConfig that cannot be stored as they are.
	Env      map[string]store.Text
	Config   json.RawMessage
	Output   *struct{} `json:",omitempty"`
	Unwanted *struct{} `json:",omitempty"`
}

func newStartRecord(cfg *drivers.TaskConfig) (*startRecord, error) {
	config, err := ctyjson.Marshal(cfg.Config, cty.DynamicPseudoType)
	if err != nil {
		return nil, err
	}
	return &startRecord{TaskConfig: *cfg, Env: texts[store.Text](cfg.Env), Config: config}, nil
}

// config returns the config with which the task was started, or was about to
// be, without its output.
func (r *startRecord) config() (*drivers.TaskConfig, error) {
	cfg := r.TaskConfig
	cfg.Env = texts[string](r.Env)
	var err error
	cfg.Config, err = ctyjson.Unmarshal(r.Config, cty.DynamicPseudoType)
	return &cfg, err
}

// texts converts the values of a map. It returns nil for nil.
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

// handleRecord is the stored record of a start that has happened.
type handleRecord struct {
	Version     int               `json:"version"`
	State       drivers.TaskState `json:"state"`
	DriverState []byte            `json:"driver_state"`
	Network     *drivers.Network  `json:"network,omitempty"`
}

// hooksRecord is the stored record of a task's hooks.
type hooksRecord struct {
	Hooks      map[string]gifts  `json:"hooks"`
	VaultToken string            `json:"vault_token,omitempty"`
	Identities map[string]string `json:"identities,omitempty"`
}
