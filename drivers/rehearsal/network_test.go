package rehearsal

import (
	"net/netip"
	"testing"

	"taskrun/drivers"
	"taskrun/drivers/mock"
)

// A group gets an address of Nomad's bridge, unless it wants no network; mock_driver
// has no networks.
func TestNetworksAreInvented(t *testing.T) {
	t.Parallel()
	d := New(Role{Name: "docker", FS: drivers.FSIsolationImage}, nil)
	bridge := netip.MustParsePrefix("172.26.64.0/20")
	seen := map[string]bool{}
	for _, id := range []string{"", "a", "b", "c", "a long name of an allocation"} {
		n, err := d.CreateNetwork(t.Context(), &drivers.NetworkRequest{AllocID: id, Mode: "bridge"})
		if err != nil || !bridge.Contains(netip.MustParseAddr(n.IP)) || n.IP == n.Gateway || n.Driver != "docker" {
			t.Errorf("%q: %+v, %v", id, n, err)
		}
		seen[n.IP] = true
	}
	if len(seen) != 5 {
		t.Errorf("addresses %v", seen)
	}
	if n, err := d.CreateNetwork(t.Context(), &drivers.NetworkRequest{AllocID: "a", Mode: "none"}); err != nil || n.IP != "" {
		t.Errorf("none: %+v, %v", n, err)
	}
	if !d.Capabilities().MustInitiateNetwork || New(RoleOf(mock.New()), nil).Capabilities().MustInitiateNetwork {
		t.Error("mock_driver has networks, or docker has none")
	}
}
