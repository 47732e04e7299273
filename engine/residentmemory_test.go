package engine_test

import (
	"context"
	"fmt"
	"testing"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// A job that only runs must cost little memory. The limit catches
// what is kept by mistake, like copies of the environment, or the plan of the job.
func TestMemoryOfALiveJob(t *testing.T) { //nolint:paralleltest // it measures the heap
	const n, limit = 40, 160 << 10
	var environ []string
	for i := range 500 {
		environ = append(environ, fmt.Sprintf("V%d=x", i))
	}
	dir := t.TempDir()
	e := engine.New(engine.Config{
		DataDir: dir, StateDir: dir + "/agent", Resident: true, HostEnv: environ,
		Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
		Hooks:   hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
	})
	defer e.Close(context.Background())
	sub := e.Subscribe(false)
	if err := e.Recover(); err != nil {
		t.Fatal(err)
	}
	registerMany(t, e, 0, n) // memory that is allocated once
	await(t, sub, n)
	before := heap()
	registerMany(t, e, n, 2*n)
	await(t, sub, n)
	each := (heap() - before) / n
	t.Logf("%d bytes", each)
	if each > limit {
		t.Errorf("a live job needs %d bytes, more than %d", each, limit)
	}
}
