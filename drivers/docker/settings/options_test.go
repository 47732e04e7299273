package settings

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// The options forbid what a config block may otherwise have.
func TestPermit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options func(*Options)
		config  Config
		want    string // empty: it is allowed
	}{
		"privileged":            {nil, Config{Common: Common{Privileged: true}}, ""},
		"privileged, forbidden": {func(o *Options) { o.AllowPrivileged = false }, Config{Common: Common{Privileged: true}}, `privileged mode is forbidden by the options of plugin "docker" in the config file: allow_privileged is false`},
		"not privileged":        {func(o *Options) { o.AllowPrivileged = false }, Config{}, ""},
		"any runtime":           {nil, Config{Runtime: "x"}, ""},
		"no runtime":            {func(o *Options) { o.AllowRuntimes = []string{} }, Config{}, ""},
		"an allowed runtime":    {func(o *Options) { o.AllowRuntimes = []string{"x", "y"} }, Config{Runtime: "y"}, ""},
		"another runtime":       {func(o *Options) { o.AllowRuntimes = []string{"x", "y"} }, Config{Runtime: "z"}, `runtime "z" is forbidden by the options of plugin "docker" in the config file: allow_runtimes has x, y`},
		"any capability":        {nil, Config{Common: Common{CapAdd: []string{"SYS_ADMIN"}}}, ""},
		"allowed capabilities":  {func(o *Options) { o.AllowCaps = []string{"chown"} }, Config{Common: Common{CapAdd: []string{"CAP_CHOWN"}}}, ""},
		"another capability":    {func(o *Options) { o.AllowCaps = []string{"chown"} }, Config{Common: Common{CapAdd: []string{"chown", "kill"}}}, `cap_add "kill" is forbidden by the options of plugin "docker" in the config file: allow_caps has chown`},
		"any number of tasks":   {nil, Config{Common: Common{PidsLimit: 1000}}, ""},
		"as many tasks":         {func(o *Options) { o.PidsLimit = 10 }, Config{Common: Common{PidsLimit: 10}}, ""},
		"more tasks":            {func(o *Options) { o.PidsLimit = 10 }, Config{Common: Common{PidsLimit: 11}}, `pids_limit 11 is forbidden by the options of plugin "docker" in the config file: it is at most 10`},
		"a volume driver":       {nil, Config{VolumeDriver: "x"}, ""},
		"no volumes":            {func(o *Options) { o.Volumes.Enabled = false }, Config{VolumeDriver: "x"}, `volumes are not enabled; cannot use volume driver "x"`},
	} {
		o := Defaults()
		if tt.options != nil {
			tt.options(&o)
		}
		if err := o.permit(&tt.config); (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// A config block has the defaults of the driver, and is checked.
func TestDecode(t *testing.T) {
	t.Parallel()
	o := Defaults()
	o.PidsLimit, o.ImagePullTimeout = 7, time.Hour
	c, err := o.Decode(cty.ObjectVal(map[string]cty.Value{"image": cty.StringVal("https://h/image:1"), "pid_mode": cty.StringVal(" host "), "ipc_mode": cty.StringVal(" private"), "uts_mode": cty.StringVal("host ")}))
	if err != nil {
		t.Fatal(err)
	}
	if c.Image != "h/image:1" || c.PIDMode != "host" || c.IPCMode != "private" || c.UTSMode != "host" || c.PidsLimit != 7 ||
		c.ImagePullTimeout != time.Hour || c.CPUCFSPeriod != 100_000 || c.ContainerExistsAttempts != 5 {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff([]string{"NET_RAW"}, c.CapDrop); diff != "" {
		t.Errorf("dropped capabilities (-want +got):\n%s", diff)
	}
	image := cty.StringVal("image")
	mount := cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"target": cty.StringVal("/a")})})
	mounts := cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"target": cty.StringVal("/b")})})
	c, err = o.Decode(cty.ObjectVal(map[string]cty.Value{"image": image, "mount": mount, "mounts": mounts}))
	if err != nil || len(c.Mount) != 2 || c.Mount[0].Target != "/a" || c.Mount[1].Target != "/b" {
		t.Errorf("mount and mounts: %+v, %v", c, err)
	}
	for want, config := range map[string]cty.Value{
		"failed to decode driver config: it is missing":                cty.NilVal,
		"failed to decode driver config: cannot decode config: option": cty.ObjectVal(map[string]cty.Value{"nope": image}),
		"image name required for docker driver":                        cty.EmptyObjectVal,
		"memory_hard_limit must not be negative":                       cty.ObjectVal(map[string]cty.Value{"image": image, "memory_hard_limit": cty.NumberIntVal(-1)}),
		"ports and port_map cannot be used together": cty.ObjectVal(map[string]cty.Value{
			"image": image, "ports": cty.TupleVal([]cty.Value{image}), "port_map": cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"a": cty.NumberIntVal(1)})}),
		}),
		"pids_limit 8 is forbidden": cty.ObjectVal(map[string]cty.Value{"image": image, "pids_limit": cty.NumberIntVal(8)}),
	} {
		if c, err := o.Decode(config); c != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v, %v, want %s", c, err, want)
		}
	}
}

// An option with an impossible value is an error.
func TestValidate(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Options){
		"":                                       func(o *Options) { o.Volumes.SELinuxLabel, o.ExtraLabels = "z", []string{"job_*"} },
		"image_pull_timeout must be more than 0": func(o *Options) { o.ImagePullTimeout = 0 },
		"pull_activity_timeout must be more than 0":    func(o *Options) { o.PullActivityTimeout = 0 },
		"infra_image_pull_timeout must be more than 0": func(o *Options) { o.InfraImagePullTimeout = 0 },
		"pids_limit must not be negative":              func(o *Options) { o.PidsLimit = -1 },
		`volumes: selinuxlabel "x" is not one of z, Z`: func(o *Options) { o.Volumes.SELinuxLabel = "x" },
		`extra_labels: "[" is not a pattern`:           func(o *Options) { o.ExtraLabels = []string{"job_*", "["} },
	} {
		o := Defaults()
		change(&o)
		if err := o.Validate(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if o, err := DecodeOptions(cty.ObjectVal(map[string]cty.Value{"pids_limit": cty.NumberIntVal(3)})); err != nil || o.PidsLimit != 3 || !o.AllowPrivileged {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := DecodeOptions(cty.ObjectVal(map[string]cty.Value{"pids_limit": cty.NumberIntVal(-3)})); err == nil {
		t.Error("a negative limit is an option")
	}
}

// Options without an effect are named, with a remedy.
func TestUnheeded(t *testing.T) {
	t.Parallel()
	object := func(name string, v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{name: v}) }
	for want, config := range map[string]cty.Value{
		"allowed_modes":                          object("allowed_modes", cty.TupleVal([]cty.Value{cty.StringVal("x")})),
		"gc.container":                           object("gc", object("container", cty.False)),
		"gc.dangling_containers":                 object("gc", object("dangling_containers", object("enabled", cty.True))),
		"gc.image":                               object("gc", object("image", cty.True)),
		"nvidia_runtime":                         object("nvidia_runtime", cty.StringVal("x")),
		"volumes.enabled":                        object("volumes", object("enabled", cty.True)),
		"windows_allow_insecure_container_admin": object("windows_allow_insecure_container_admin", cty.False),
	} {
		if got := Unheeded(config); len(got) != 1 || got[0].Option != want || got[0].Instead == "" {
			t.Errorf("%s: %+v", want, got)
		}
	}
	for _, config := range []cty.Value{cty.EmptyObjectVal, object("gc", object("container", cty.True)), object("nope", cty.True)} {
		if got := Unheeded(config); len(got) > 0 {
			t.Errorf("%#v: %+v", config, got)
		}
	}
}

// A port of the group is named by its label; those of the task's own network may
// be mapped.
func TestMappings(t *testing.T) {
	t.Parallel()
	group := []taskenv.Port{{Label: "http", Value: 20001, To: 80}, {Label: "db", Value: 20002}}
	own := []taskenv.Port{{Label: "own", Value: 20003}}
	mapped := func(label string, to int) []map[string]int { return []map[string]int{{label: to}} }
	for name, tt := range map[string]struct {
		config           Common
		ports, taskPorts []taskenv.Port
		want             []mapping
		err              string
	}{
		"none named":     {Common{}, group, nil, nil, ""},
		"named":          {Common{Ports: []string{"db", "http"}}, group, nil, []mapping{{group[1], 20002}, {group[0], 80}}, ""},
		"unknown":        {Common{Ports: []string{"nope"}}, group, nil, nil, `Port "nope" not found, check network block`},
		"own":            {Common{}, nil, own, []mapping{{own[0], 20003}}, ""},
		"own, mapped":    {Common{PortMap: mapped("own", 8080)}, nil, own, []mapping{{own[0], 8080}}, ""},
		"mapped, group":  {Common{PortMap: mapped("http", 8080)}, group, nil, nil, "'port_map' cannot map group network ports, use 'ports' instead"},
		"mapped, none":   {Common{PortMap: mapped("http", 8080)}, nil, nil, nil, "Trying to map ports but no network interface is available"},
		"mapped unknown": {Common{PortMap: mapped("nope", 8080)}, nil, own, nil, `port_map names the port "nope", which the task's resources do not have`},
	} {
		c := &Config{Common: tt.config}
		got, err := c.mappings(&drivers.TaskConfig{Ports: tt.ports, TaskPorts: tt.taskPorts})
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(mapping{})); diff != "" || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// Ports are forwarded for both protocols, from addresses and to ports that exist.
func TestPublish(t *testing.T) {
	t.Parallel()
	config, host := &container.Config{}, &container.HostConfig{}
	if err := publish([]mapping{{taskenv.Port{Label: "a", Value: 20001, HostIP: "127.0.0.1"}, 80}}, config, host); err != nil {
		t.Fatal(err)
	}
	binding := []network.PortBinding{{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: "20001"}}
	want := network.PortMap{network.MustParsePort("80/tcp"): binding, network.MustParsePort("80/udp"): binding}
	if diff := cmp.Diff(want, host.PortBindings, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b network.Port) bool { return a == b })); diff != "" || len(config.ExposedPorts) != 2 {
		t.Errorf("%v (-want +got):\n%s", config.ExposedPorts, diff)
	}
	for want, m := range map[string]mapping{
		`port "a" has an unusable address: `:           {taskenv.Port{Label: "a", HostIP: "x"}, 80},
		`port "a" leads to 65536, which is not a port`: {taskenv.Port{Label: "a", HostIP: "127.0.0.1"}, 65536},
	} {
		if err := publish([]mapping{m}, config, host); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The settings of a task in a network of the engine are those of its config.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	if e, err := (&Config{}).endpoint(); e != nil || err != nil {
		t.Errorf("without settings: %+v, %v", e, err)
	}
	c := &Config{Common: Common{NetworkMode: "mine", IPv4Address: "10.0.0.1", IPv6Address: "fd00::1"}, NetworkAliases: []string{"a"}, MACAddress: "02:42:ac:11:00:02"}
	e, err := c.endpoint()
	if err != nil {
		t.Fatal(err)
	}
	s := e.EndpointsConfig["mine"]
	if len(e.EndpointsConfig) != 1 || s.IPAMConfig.IPv4Address.String() != "10.0.0.1" || s.IPAMConfig.IPv6Address.String() != "fd00::1" ||
		s.MacAddress.String() != "02:42:ac:11:00:02" || len(s.Aliases) != 1 {
		t.Errorf("%+v", s)
	}
	for name, c := range map[string]*Config{
		"an address": {Common: Common{IPv4Address: "10.0.0.1"}}, "another": {Common: Common{IPv6Address: "fd00::1"}}, "an alias": {NetworkAliases: []string{"a"}}, "a MAC address": {MACAddress: "02:42:ac:11:00:02"},
	} {
		if e, err := c.endpoint(); err != nil || e == nil || e.EndpointsConfig["bridge"] == nil || (e.EndpointsConfig["bridge"].IPAMConfig != nil) != (c.MACAddress == "" && c.NetworkAliases == nil) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	for want, c := range map[string]*Config{
		"ipv4_address: ": {Common: Common{IPv4Address: "x"}}, "ipv6_address: ": {Common: Common{IPv6Address: "x"}}, "mac_address: ": {MACAddress: "x"},
	} {
		if e, err := c.endpoint(); e != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, e, err)
		}
	}
}

// A container is reached at the first address that it has, which is advertised if
// its network is the user's.
func TestNetworkOf(t *testing.T) {
	t.Parallel()
	at := func(name, ip, ip6 string) container.InspectResponse {
		e := &network.EndpointSettings{}
		if ip != "" {
			e.IPAddress = netip.MustParseAddr(ip)
		}
		if ip6 != "" {
			e.GlobalIPv6Address = netip.MustParseAddr(ip6)
		}
		return container.InspectResponse{NetworkSettings: &container.NetworkSettings{Networks: map[string]*network.EndpointSettings{"a": {}, name: e}}}
	}
	ports := map[string]int{"own": 80}
	cfg := &drivers.TaskConfig{TaskPorts: []taskenv.Port{{Label: "own", Value: 20003, To: 80}}}
	for name, tt := range map[string]struct {
		config Config
		info   container.InspectResponse
		want   *drivers.Network
	}{
		"of the engine": {Config{}, at("bridge", "10.0.0.1", ""), &drivers.Network{IP: "10.0.0.1", PortMap: ports}},
		"of Podman":     {Config{}, at("podman", "10.0.0.1", ""), &drivers.Network{IP: "10.0.0.1", PortMap: ports}},
		"of the user":   {Config{}, at("mine", "10.0.0.1", "fd00::1"), &drivers.Network{IP: "10.0.0.1", PortMap: ports, AutoAdvertise: true}},
		"by IPv6":       {Config{AdvertiseIPv6Address: true}, at("mine", "10.0.0.1", "fd00::1"), &drivers.Network{IP: "fd00::1", PortMap: ports, AutoAdvertise: true}},
		"of this host":  {Config{}, at("host", "10.0.0.1", ""), &drivers.Network{IP: "10.0.0.1", PortMap: ports}},
		"no address":    {Config{}, at("mine", "", "fd00::1"), nil},
		"no settings":   {Config{}, container.InspectResponse{}, nil},
	} {
		if diff := cmp.Diff(tt.want, tt.config.NetworkOf(cfg, tt.info)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	joined := &drivers.TaskConfig{Network: &drivers.NetworkIsolation{ID: "x"}}
	if got := (&Config{}).NetworkOf(joined, at("mine", "10.0.0.1", "")); got != nil {
		t.Errorf("in the network of its group it is at %+v", got)
	}
}

// Variables of mapped ports have the ports inside, and the task's own are not
// changed.
func TestEnvironmentOfMappedPorts(t *testing.T) {
	t.Parallel()
	cfg := &drivers.TaskConfig{Env: map[string]string{"NOMAD_PORT_a_b": "20001", "NOMAD_PORT_c": "20002"}}
	c := &Config{Common: Common{PortMap: []map[string]int{{"a-b": 80, "none": 81}}}}
	if diff := cmp.Diff(map[string]string{"NOMAD_PORT_a_b": "80", "NOMAD_PORT_c": "20002"}, c.environment(cfg)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"NOMAD_PORT_a_b": "20001", "NOMAD_PORT_c": "20002"}, (&Config{}).environment(cfg)); diff != "" {
		t.Errorf("without a map (-want +got):\n%s", diff)
	}
}

// Labels that match a pattern say what the task is.
func TestExtraLabels(t *testing.T) {
	t.Parallel()
	cfg := &drivers.TaskConfig{Name: "t", JobName: "j", JobID: "id", GroupName: "g", Namespace: "n", NodeName: "here", NodeID: "node", AllocID: "0123456789"}
	all := map[string]string{
		"com.hashicorp.nomad.job_name": "j", "com.hashicorp.nomad.job_id": "id", "com.hashicorp.nomad.task_group_name": "g", "com.hashicorp.nomad.task_name": "t",
		"com.hashicorp.nomad.namespace": "n", "com.hashicorp.nomad.node_name": "here", "com.hashicorp.nomad.node_id": "node", "com.hashicorp.nomad.short_alloc_id": "01234567",
	}
	for pattern, want := range map[string]map[string]string{
		"*": all, "job_*": {"com.hashicorp.nomad.job_name": "j", "com.hashicorp.nomad.job_id": "id"}, "none": {}, "[": {},
	} {
		if diff := cmp.Diff(want, (&Options{ExtraLabels: []string{pattern}}).extraLabels(cfg)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pattern, diff)
		}
	}
}
