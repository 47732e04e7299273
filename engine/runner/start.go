package runner

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/taskenv"
)

// start prepares the task and starts it in its driver. Without a failure it
// has begun stepStarted, unless it was killed, left or held before it could start.
func (t *taskRun) start() *startFailure {
	t.id, t.network = "", nil
	if failure := t.hooks.prestart(); failure != nil {
		return failure
	}
	if t.isKilled() || t.isLeft() || t.held.Load() {
		return nil
	}
	env := t.env.snapshot()
	config, err := env.DecodeConfig(t.spec().Config, t.driver.TaskConfigSchema())
	if err != nil {
		return failed(err, event.FailedValidation(faults(err)))
	}
	cfg := t.driverConfig(env)
	cfg.Config = config
	if err := t.intend(cfg); err != nil {
		return failed(err, event.DriverFailure(err))
	}
	handle, network, err := t.driver.StartTask(t.alloc.hard, cfg)
	if errors.Is(err, drivers.ErrUnwanted) && t.isKilled() {
		return nil
	}
	if err != nil {
		why := event.DriverFailure(err)
		if _, ok := errors.AsType[*drivers.NoCommandError](err); ok {
			why.Details[event.NoCommand] = "true"
		}
		return failed(err, why)
	}
	t.begun(handle, network)
	return nil
}

// intend stores that the task is about to be started: if nothing is known of
// the outcome, its driver is asked.
func (t *taskRun) intend(cfg *drivers.TaskConfig) error {
	if !t.alloc.recorder.Durable() {
		return nil
	}
	record, err := newStartRecord(cfg)
	if err != nil {
		return fmt.Errorf("cannot store how the task is started: %w", err)
	}
	t.move(stepIntent, func() { t.put(startKey, record) })
	return nil
}

// begun takes in that the task runs.
func (t *taskRun) begun(handle *drivers.TaskHandle, network *drivers.Network) {
	t.id, t.started, t.network = handle.Config.ID, handle, network
	id := t.id
	t.move(stepStarted, func() {
		t.handle = id
		t.put(handleKey, handleRecord{handle.Version, handle.State, handle.DriverState, network})
		t.apply(running, event.Started())
	})
	t.takeOrders()
}

func (t *taskRun) driverConfig(env *taskenv.Env) *drivers.TaskConfig {
	a := t.alloc.Config()
	cfg := &drivers.TaskConfig{
		ID:        fmt.Sprintf("%s/%s/%s", a.Alloc.ID, t.name, a.Chance.ID("start", a.Alloc.ID, t.name)[:8]),
		AllocID:   a.Alloc.ID,
		Namespace: *a.Job.Namespace,
		JobName:   *a.Job.Name,
		JobID:     *a.Job.ID,
		GroupName: *a.Group.Name,
		Name:      t.name,
		NodeID:    a.Node.ID,
		NodeName:  a.Node.Name,
		Env:       env.Map(),
		User:      t.spec().User,
		Resources: a.Granted(t.spec()),
		AllocDir:  a.Dir,
		Ports:     a.Ports,
		TaskPorts: a.TaskPorts[t.name],
		DNS:       dnsOf(a.Group),
		Network:   t.isolation(),
		Output:    t.output,
		Unwanted:  t.killed.Done(),
	}
	if a.Job.ParentID != nil {
		cfg.ParentJobID = *a.Job.ParentID
	}
	for _, h := range t.hooks.list {
		cfg.Mounts = append(cfg.Mounts, h.Mounts...)
		cfg.Devices = append(cfg.Devices, h.Devices...)
	}
	return cfg
}

// faults words an error of a task's config as Nomad does: as a list under a
// heading that is counted.
func faults(err error) string {
	config, ok := errors.AsType[*taskenv.ConfigError](err)
	if !ok {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d errors occurred:\n\t* failed to parse config: ", len(config.Diagnostics)+1)
	for _, f := range config.Diagnostics {
		b.WriteString("\n\t* " + f.String())
	}
	b.WriteString("\n\n")
	return b.String()
}

// isolation returns the network in which the task starts. Only tasks of the
// driver that created it can join it; the others use the network of the
// machine.
func (t *taskRun) isolation() *drivers.NetworkIsolation {
	if n := t.alloc.network; n != nil && n.Driver == t.driver.Info().Name {
		return n
	}
	return nil
}

// dnsOf returns how the tasks of a group resolve names; nil means like the
// machine.
func dnsOf(g *api.TaskGroup) *drivers.DNS {
	if len(g.Networks) == 0 || g.Networks[0].DNS == nil {
		return nil
	}
	dns := g.Networks[0].DNS
	return &drivers.DNS{Servers: dns.Servers, Searches: dns.Searches, Options: dns.Options}
}
