package docker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/settings"
)

func TestMachine(t *testing.T) {
	t.Parallel()
	own := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("172.17.0.1"), netip.MustParseAddr("192.0.2.7")}
	for _, c := range []struct {
		name, ipam, info string
		want             drivers.Machine
		err              string
		linux            bool // the result differs on macOS
	}{
		{"gateway", `[{"Subnet":"172.17.0.0/16","Gateway":"172.17.0.1"}]`, `{}`, drivers.Machine{Address: "172.17.0.1", Here: true}, "", false},
		{"subnet", `[{"Subnet":"fd00::/64"},{"Subnet":"172.17.0.0/16"}]`, `{}`, drivers.Machine{Address: "172.17.0.1", Here: true}, "", false},
		{"rootless", `[{"Subnet":"172.17.0.0/16","Gateway":"172.17.0.1"}]`, `{"SecurityOptions":["name=seccomp","name=rootless"]}`, drivers.Machine{}, "rootless", false},
		{"rootless Podman", `[{"Subnet":"172.17.0.0/16","Gateway":"172.17.0.1"}]`, `{"SecurityOptions":["name=seccomp"],"Rootless":true}`, drivers.Machine{}, "rootless", false},
		{"no engine", ``, `no`, drivers.Machine{}, "cannot identify the engine", false},
		{"Docker Desktop", `[{"Subnet":"10.5.0.0/16","Gateway":"10.5.0.1"}]`, `{"OperatingSystem":"Docker Desktop"}`, drivers.Machine{Address: "host.docker.internal"}, "", false},
		{"elsewhere", `[{"Subnet":"10.5.0.0/16","Gateway":"10.5.0.1"}]`, `{"OperatingSystem":"Debian"}`, drivers.Machine{}, "no address", true},
		{"no network", ``, `{}`, drivers.Machine{}, "cannot ask the engine", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.linux && runtime.GOOS == "darwin" {
				t.Skip("engines run in virtual machines here")
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case strings.HasSuffix(r.URL.Path, "/networks/bridge") && c.ipam != "":
					fmt.Fprintf(w, `{"Name":"bridge","IPAM":{"Config":%s}}`, c.ipam)
				case strings.HasSuffix(r.URL.Path, "/info"):
					fmt.Fprint(w, c.info)
				default:
					http.Error(w, `{"message":"no such network"}`, http.StatusNotFound)
				}
			}))
			defer server.Close()
			cli, err := client.New(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithAPIVersion("1.41"))
			if err != nil {
				t.Fatal(err)
			}
			defer cli.Close()
			got, err := findMachine(t.Context(), cli, own)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestOutside(t *testing.T) {
	t.Parallel()
	d := New(Config{Host: "unix:///nowhere"})
	for mode, want := range map[string]bool{"": true, "bridge": true, "mine": true, "host": false, "none": false, "container:x": false} {
		outside, ports := d.Outside(map[string]any{"network_mode": mode, "ports": []any{"http", 7, "db"}})
		if outside != want || want && !slices.Equal(ports, []string{"http", "db"}) {
			t.Errorf("network_mode %q: outside %v, ports %v", mode, outside, ports)
		}
	}
}

// Only ports of the loopback address are published elsewhere.
func TestPublishAlso(t *testing.T) {
	t.Parallel()
	inside, _ := network.PortFrom(80, network.TCP)
	binding := func(ip string) network.PortBinding {
		return network.PortBinding{HostIP: netip.MustParseAddr(ip), HostPort: "8080"}
	}
	host := &container.HostConfig{PortBindings: network.PortMap{inside: {binding("127.0.0.1"), binding("192.0.2.1")}}}
	settings.PublishAlso(host, netip.MustParseAddr("172.17.0.1"))
	want := []network.PortBinding{binding("127.0.0.1"), binding("192.0.2.1"), binding("172.17.0.1")}
	if got := host.PortBindings[inside]; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
