package network_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
	"taskrun/hooks/network"
	"taskrun/jobspec/taskenv"
)

// manager records requests.
type manager struct {
	asked *drivers.NetworkRequest
	gone  *drivers.NetworkIsolation
}

func (m *manager) CreateNetwork(_ context.Context, req *drivers.NetworkRequest) (*drivers.NetworkIsolation, error) {
	m.asked = req
	return &drivers.NetworkIsolation{Driver: "test", ID: "1", IP: "172.17.0.9"}, nil
}

func (m *manager) DestroyNetwork(_ context.Context, n *drivers.NetworkIsolation) error {
	m.gone = n
	return nil
}

func TestNetworkIsMadeAndRemoved(t *testing.T) {
	t.Parallel()
	m, told := &manager{}, (*drivers.NetworkIsolation)(nil)
	ports := []taskenv.Port{{Label: "http", Value: 20000, To: 80, HostIP: "127.0.0.1"}}
	group := func(mode string) *api.TaskGroup {
		return &api.TaskGroup{Name: new("g"), Networks: []*api.NetworkResource{{
			Mode: mode, Hostname: "${NOMAD_GROUP_NAME}-box", DNS: &api.DNSConfig{Servers: []string{"10.0.0.1"}},
		}}}
	}
	info := hooks.Alloc{
		Alloc: &event.Alloc{ID: "id"}, AllocDir: "/dir", Network: m, Ports: ports,
		SetNetwork: func(n *drivers.NetworkIsolation) { told = n },
	}
	for mode, want := range map[string][2]string{"bridge": {"bridge"}, "none": {"none"}, "cni/mine": {"bridge", "mine"}} {
		info.Group = group(mode)
		info.Env = func() *taskenv.Env {
			return taskenv.NewBuilder(nil, taskenv.AllocInfo{}, nil, info.Group, nil).Build()
		}
		h := network.New(info)
		if err := h.(hooks.AllocPostrun).Postrun(t.Context()); err != nil || m.gone != nil {
			t.Errorf("what was not made is removed: %v, %v", m.gone, err)
		}
		if err := h.(hooks.AllocPrerun).Prerun(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked := &drivers.NetworkRequest{
			AllocID: "id", AllocDir: "/dir", Mode: want[0], Name: want[1], Hostname: "g-box", Ports: ports,
			DNS: &drivers.DNS{Servers: []string{"10.0.0.1"}},
		}
		if diff := cmp.Diff(asked, m.asked); diff != "" {
			t.Errorf("mode %s (-want +got):\n%s", mode, diff)
		}
		if err := h.(hooks.AllocPostrun).Postrun(t.Context()); err != nil || m.gone == nil || m.gone != told {
			t.Errorf("it removed %v, not %v: %v", m.gone, told, err)
		}
		m.gone = nil
	}
	for _, mode := range []string{"", "host"} {
		info.Group = group(mode)
		if h := network.New(info); h != nil {
			t.Errorf("mode %q has a hook", mode)
		}
	}
	info.Group, info.Network = group("bridge"), nil
	if h := network.New(info); h != nil {
		t.Error("there is a hook, but nobody to make a network")
	}
}

// If creating a network fails, that is an error, and there is none to remove.
func TestNetworkCreationFails(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	g := &api.TaskGroup{Name: new("g"), Networks: []*api.NetworkResource{{Mode: "bridge"}}}
	m := &failing{err: why}
	h := network.New(hooks.Alloc{
		Alloc: &event.Alloc{ID: "id"}, Network: m, Group: g, SetNetwork: func(*drivers.NetworkIsolation) { t.Error("a network was told of") },
		Env: func() *taskenv.Env { return taskenv.NewBuilder(nil, taskenv.AllocInfo{}, nil, g, nil).Build() },
	})
	if err := h.(hooks.AllocPrerun).Prerun(t.Context()); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if err := h.(hooks.AllocPostrun).Postrun(t.Context()); err != nil || m.gone != nil {
		t.Errorf("removed %v, %v", m.gone, err)
	}
	for _, g := range []*api.TaskGroup{{}, {Networks: []*api.NetworkResource{{}}}, {Networks: []*api.NetworkResource{{Mode: "cni"}}}} {
		if network.Wanted(g) {
			t.Errorf("%+v wants a network", g)
		}
	}
}

type failing struct {
	manager
	err error
}

func (f *failing) CreateNetwork(context.Context, *drivers.NetworkRequest) (*drivers.NetworkIsolation, error) {
	return nil, f.err
}
