package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

var _ drivers.Lasting = (*Driver)(nil)

// ref is what another program needs to find the containers of a run. It does
// not depend on the environment.
type ref struct {
	Run    string          `json:"run"`
	Engine daemon.Endpoint `json:"engine"`
}

// OnUse makes the driver call tell before it creates anything in the engine.
func (d *Driver) OnUse(tell func(ref string)) {
	d.onUse = sync.OnceFunc(func() {
		engine, err := d.engine()
		if err != nil {
			return // nothing is created in an engine that was not found
		}
		line, err := json.Marshal(ref{d.config.Run, engine})
		if err == nil { // strings can always be marshaled
			tell(string(line))
		}
	})
}

// use records that something is about to be created in the engine.
func (d *Driver) use() {
	d.used.Store(true)
	if d.onUse != nil {
		d.onUse()
	}
}

// CleanUp removes the containers of a run.
func (d *Driver) CleanUp(ctx context.Context, line string) error {
	var r ref
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.Run == "" {
		return fmt.Errorf("cannot find the containers of a run by %q: %w", line, err)
	}
	cli, err := r.Engine.Client()
	if err != nil {
		return err
	}
	defer cli.Close()
	_, err = daemon.RemoveRun(ctx, cli, r.Run)
	return err
}
