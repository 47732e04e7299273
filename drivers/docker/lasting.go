package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"taskrun/drivers"
)

var _ drivers.Lasting = (*Driver)(nil)

// ref is by what the containers of a run are found, on an engine that somebody
// else has to reach without this program's environment.
type ref struct {
	Run    string `json:"run"`
	Engine engine `json:"engine"`
}

// OnUse has tell called before anything is made in the engine.
func (d *Driver) OnUse(tell func(ref string)) {
	d.onUse = sync.OnceFunc(func() {
		line, err := json.Marshal(ref{d.config.Run, d.engine()})
		if err == nil { // and texts can always be marshalled
			tell(string(line))
		}
	})
}

// use notes that something is about to be made in the engine.
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
	cli, err := r.Engine.client()
	if err != nil {
		return err
	}
	defer cli.Close()
	_, err = removeRun(ctx, cli, r.Run)
	return err
}
