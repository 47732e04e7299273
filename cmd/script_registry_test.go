package cmd

import (
	"context"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"taskrun/drivers/docker/dockertest"
)

// registries are the registries of scripts, one for each. The script command is
//
//	registry                  start one with the images $REGISTRY/shop/web:1 and :latest
//	registry demand USER:PW   require a password
//	registry hold|release     stop downloads halfway, and continue them
type registries struct {
	mu   sync.Mutex
	open map[string]*scriptRegistry // by the script's directory
}

type scriptRegistry struct {
	*dockertest.Registry
	release func()
}

func (rs *registries) command(ts *testscript.TestScript, neg bool, args []string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.open[ts.MkAbs(".")]
	switch {
	case neg || r == nil && len(args) > 0:
		ts.Fatalf("usage: registry [demand USER:PW|hold|release]")
	case len(args) == 0:
		started, err := dockertest.StartRegistry(context.Background())
		ts.Check(err)
		ts.Defer(started.Close)
		if rs.open == nil {
			rs.open = map[string]*scriptRegistry{}
		}
		rs.open[ts.MkAbs(".")] = &scriptRegistry{Registry: started, release: func() {}}
		ts.Setenv("REGISTRY", started.Address())
	case args[0] == "demand" && len(args) == 2:
		r.Demand(args[1])
	case args[0] == "hold":
		r.release = r.Hold()
		ts.Defer(r.release)
	case args[0] == "release":
		r.release()
	default:
		ts.Fatalf("unknown: registry %q", args)
	}
}
