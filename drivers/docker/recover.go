package docker

import (
	"encoding/json"

	"taskrun/drivers"
)

// handleVersion is the version of the task handles made here.
const handleVersion = 1

// state is what a task can be found by later.
type state struct {
	Container string `json:"container_id"`
}

func (t *task) handle(cfg *drivers.TaskConfig) *drivers.TaskHandle {
	data, _ := json.Marshal(state{t.container}) // a string is always marshalled
	return &drivers.TaskHandle{
		Version:     handleVersion,
		Config:      cfg,
		State:       drivers.TaskStateRunning,
		DriverState: data,
	}
}
