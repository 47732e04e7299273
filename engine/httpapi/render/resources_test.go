package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine"
	"taskrun/jobspec/taskenv"
)

// The resources of an allocation are those granted to its tasks, with their ports.
func TestResources(t *testing.T) {
	t.Parallel()
	ask := func(static, dynamic string) []*api.NetworkResource {
		return []*api.NetworkResource{{Mode: "host", ReservedPorts: []api.Port{{Label: static, Value: 1}}, DynamicPorts: []api.Port{{Label: dynamic, To: 80}}}}
	}
	got := func(static, dynamic string, numbers ...int) ([]taskenv.Port, []*api.NetworkResource) {
		ports := []taskenv.Port{{Label: static, Value: numbers[0], HostIP: "127.0.0.1"}, {Label: dynamic, Value: numbers[1], To: 80, HostIP: "127.0.0.1"}}
		return ports, []*api.NetworkResource{{
			Mode: "host", IP: "127.0.0.1",
			ReservedPorts: []api.Port{{Label: static, Value: numbers[0]}}, DynamicPorts: []api.Port{{Label: dynamic, Value: numbers[1], To: 80}},
		}}
	}
	shared, group := got("a", "b", 1, 20001)
	own, task := got("c", "d", 2, 20002)
	a := engine.Alloc{}
	a.Ports, a.TaskPorts = shared, map[string][]taskenv.Port{"t": own}
	a.Granted = map[string]drivers.Resources{"t": {CPU: 100, MemoryMB: 10, MemoryMaxMB: 30}, "u": {CPU: 50, MemoryMB: 20}}
	alloc := &api.Allocation{}
	addResources(alloc, &api.TaskGroup{
		EphemeralDisk: &api.EphemeralDisk{SizeMB: new(300)}, Networks: ask("a", "b"),
		Tasks: []*api.Task{{Name: "t", Resources: &api.Resources{Cores: new(2), Networks: ask("c", "d")}}, {Name: "u"}},
	}, a)
	want := &api.Allocation{
		Resources: &api.Resources{CPU: new(150), Cores: new(2), MemoryMB: new(30), MemoryMaxMB: new(50), DiskMB: new(300), IOPS: new(0), Networks: group},
		TaskResources: map[string]*api.Resources{
			"t": {CPU: new(100), Cores: new(2), MemoryMB: new(10), MemoryMaxMB: new(30), Networks: task},
			"u": {CPU: new(50), MemoryMB: new(20), MemoryMaxMB: new(0)},
		},
		AllocatedResources: &api.AllocatedResources{
			Tasks: map[string]*api.AllocatedTaskResources{
				"t": {Cpu: api.AllocatedCpuResources{CpuShares: 100}, Memory: api.AllocatedMemoryResources{MemoryMB: 10, MemoryMaxMB: 30}, Networks: task},
				"u": {Cpu: api.AllocatedCpuResources{CpuShares: 50}, Memory: api.AllocatedMemoryResources{MemoryMB: 20}},
			},
			Shared: api.AllocatedSharedResources{DiskMB: 300, Networks: group, Ports: []api.PortMapping{
				{Label: "a", Value: 1, HostIP: "127.0.0.1"}, {Label: "b", Value: 20001, To: 80, HostIP: "127.0.0.1"},
			}},
		},
	}
	if diff := cmp.Diff(want, alloc); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	alloc = &api.Allocation{}
	addResources(alloc, &api.TaskGroup{EphemeralDisk: &api.EphemeralDisk{}}, engine.Alloc{})
	if *alloc.Resources.DiskMB != 0 || len(alloc.TaskResources) != 0 {
		t.Errorf("of a group without resources: %+v", alloc.Resources)
	}
}

// The current attributes of a driver replace those of the machine.
func TestDriverAttributes(t *testing.T) {
	t.Parallel()
	attributes := map[string]string{"driver.gone": "1", "driver.exec": "1", "driver.gone.version": "1", "kernel.name": "linux"}
	addDrivers(attributes, map[string]*api.DriverInfo{
		"gone": {}, "exec": {Attributes: map[string]string{"driver.exec": "true", "driver.exec.version": "true"}},
		"odd": {Attributes: map[string]string{"driver.odd": "2"}},
	})
	want := map[string]string{
		"driver.exec": "1", "driver.exec.version": "true", "driver.odd": "2", "driver.gone.version": "1", "kernel.name": "linux",
	}
	if diff := cmp.Diff(want, attributes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
