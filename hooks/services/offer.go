package services

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/service"
	"taskrun/hooks/services/check"
	"taskrun/jobspec/taskenv"
	"taskrun/jobspec/validate"
)

// offer holds the registered services of a group or a task, and their checks. A nil
// offer is empty. Its owner serializes the calls.
type offer struct {
	site      *site
	ids       []string
	observers []*observer

	started bool
	stop    context.CancelFunc
	running sync.WaitGroup
}

// newOffer registers services of a task, or of the group if its name is empty. On
// error none is left.
func newOffer(at *site, task string, services []*api.Service, env *taskenv.Env, network *drivers.Network) (*offer, error) {
	o := &offer{site: at}
	where := at.network(task, network)
	var found []*service.Instance
	for i, s := range services {
		s = interpolate(s, env)
		if !validate.IsServiceName(s.Name) {
			return nil, fmt.Errorf("service name %q is not valid: it must be letters, digits and dashes, no dash first or last, and at most 63 of them", s.Name)
		}
		ip, port, err := where.Address(s.AddressMode, s.PortLabel, s.Address)
		if err != nil {
			return nil, fmt.Errorf("unable to get address for service %q: %w", s.Name, err)
		}
		id := service.RegistrationID(at.info.Alloc.ID, at.info.Alloc.Group, task, s)
		found = append(found, &service.Instance{
			ServiceRegistration: at.info.Registration(id, s.Name, ip, port, s.Tags), Provider: s.Provider, Meta: s.Meta,
		})
		for k := range s.Checks {
			c, err := at.check(task, s, &s.Checks[k], where)
			if err != nil {
				return nil, err
			}
			o.observers = append(o.observers, &observer{site: at, key: checkKey{task, i, k}, check: c})
		}
	}
	for _, r := range found {
		at.cfg.Catalog.Register(r)
		o.ids = append(o.ids, r.ID)
		at.info.PublishService(&r.ServiceRegistration, true)
	}
	for _, ob := range o.observers {
		ob.report(initial(ob.check))
	}
	return o, nil
}

func (s *site) check(task string, of *api.Service, c *api.ServiceCheck, where service.Network) (*check.Check, error) {
	made := &check.Check{ServiceCheck: *c, Service: of.Name, Group: s.info.Alloc.Name, Task: task}
	made.Task = cmp.Or(c.TaskName, of.TaskName, task)
	if c.Type != "script" {
		mode, custom := c.AddressMode, ""
		if mode == "" && of.Address != "" {
			mode, custom = "auto", of.Address
		}
		var err error
		made.Address, made.Port, err = where.Address(cmp.Or(mode, "host"), cmp.Or(c.PortLabel, of.PortLabel), custom)
		if err != nil {
			return nil, fmt.Errorf("unable to get address for check %q of service %q: %w", c.Name, of.Name, err)
		}
	}
	made.SetID(s.info.Alloc.ID)
	return made, nil
}

// initial returns the status of a check before its first probe. With Consul the job
// chooses it.
func initial(c *check.Check) check.Result {
	r := check.Result{Status: check.Pending, Output: check.Waiting}
	switch c.InitialStatus {
	case "passing":
		r.Status = check.Success
	case "warning":
		r.Status, r.Warning = check.Failure, true
	case "critical":
		r.Status = check.Failure
	}
	return r
}

// startChecks starts the checks, unless they have been.
func (o *offer) startChecks() {
	if o.started {
		return
	}
	o.started = true
	if o.site.cfg.Unprobed {
		for _, ob := range o.observers {
			ob.report(check.Result{Status: check.Success, Output: "not probed"})
		}
		return
	}
	var ctx context.Context
	ctx, o.stop = context.WithCancel(context.Background())
	for _, ob := range o.observers {
		if ob.check.Type == "script" {
			task := ob.check.Task
			ob.check.Exec = func(ctx context.Context, cmd []string) (*drivers.ExecTaskResult, error) {
				return o.site.exec(ctx, task, cmd)
			}
		}
		o.running.Go(func() { ob.observe(ctx) })
	}
}

// withdraw deregisters the services and waits for the end of their checks.
func (o *offer) withdraw() {
	if o == nil {
		return
	}
	for _, id := range o.ids {
		if r := o.site.cfg.Catalog.Deregister(id); r != nil {
			o.site.info.PublishService(&r.ServiceRegistration, false)
		}
	}
	if o.stop != nil {
		o.stop()
	}
	o.running.Wait()
	for _, ob := range o.observers {
		ob.conclude()
	}
}

// forget removes the statuses of the checks of a withdrawn offer, which no longer
// belong to the job.
func (o *offer) forget() {
	if o == nil {
		return
	}
	for _, ob := range o.observers {
		o.site.cfg.Catalog.ForgetCheck(o.site.info.Alloc.ID, ob.check.ID)
	}
}
