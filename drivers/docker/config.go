package docker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/taskenv"
)

// taskConfig is a config block. Of maps that may be written as several blocks
// there is a list.
type taskConfig struct {
	Image            string        `cty:"image"`
	ImagePullTimeout time.Duration `cty:"image_pull_timeout"`
	ForcePull        bool          `cty:"force_pull"`
	Load             string        `cty:"load"` // path of an archive below the task's directory
	Auth             *authConfig   `cty:"auth"`
	AuthSoftFail     bool          `cty:"auth_soft_fail"`

	Command     string   `cty:"command"`
	Args        []string `cty:"args"`
	Entrypoint  []string `cty:"entrypoint"`
	WorkDir     string   `cty:"work_dir"`
	Hostname    string   `cty:"hostname"`
	Init        bool     `cty:"init"`
	Interactive bool     `cty:"interactive"`
	TTY         bool     `cty:"tty"`

	NetworkMode          string           `cty:"network_mode"`
	NetworkAliases       []string         `cty:"network_aliases"`
	IPv4Address          string           `cty:"ipv4_address"`
	IPv6Address          string           `cty:"ipv6_address"`
	MACAddress           string           `cty:"mac_address"`
	AdvertiseIPv6Address bool             `cty:"advertise_ipv6_address"`
	Ports                []string         `cty:"ports"`
	PortMap              []map[string]int `cty:"port_map"`
	ExtraHosts           []string         `cty:"extra_hosts"`
	DNSServers           []string         `cty:"dns_servers"`
	DNSSearchDomains     []string         `cty:"dns_search_domains"`
	DNSOptions           []string         `cty:"dns_options"`

	Volumes        []string          `cty:"volumes"`
	VolumeDriver   string            `cty:"volume_driver"`
	Mount          []mountConfig     `cty:"mount"`
	Mounts         []mountConfig     `cty:"mounts"`
	Devices        []deviceConfig    `cty:"devices"`
	StorageOpt     map[string]string `cty:"storage_opt"`
	ReadonlyRootfs bool              `cty:"readonly_rootfs"`
	ShmSize        int64             `cty:"shm_size"` // bytes

	Privileged  bool     `cty:"privileged"`
	CapAdd      []string `cty:"cap_add"`
	CapDrop     []string `cty:"cap_drop"`
	SecurityOpt []string `cty:"security_opt"`
	GroupAdd    []string `cty:"group_add"`
	CgroupNS    string   `cty:"cgroupns"`
	IPCMode     string   `cty:"ipc_mode"`
	PIDMode     string   `cty:"pid_mode"`
	UsernsMode  string   `cty:"userns_mode"`
	UTSMode     string   `cty:"uts_mode"`
	Isolation   string   `cty:"isolation"`
	Runtime     string   `cty:"runtime"`

	CPUHardLimit    bool                `cty:"cpu_hard_limit"`
	CPUCFSPeriod    int64               `cty:"cpu_cfs_period"` // microseconds
	CpusetCPUs      string              `cty:"cpuset_cpus"`
	MemoryHardLimit int64               `cty:"memory_hard_limit"` // MiB
	OOMScoreAdj     int                 `cty:"oom_score_adj"`
	PidsLimit       int64               `cty:"pids_limit"`
	Sysctl          []map[string]string `cty:"sysctl"`
	Ulimit          []map[string]string `cty:"ulimit"`

	Labels       []map[string]string `cty:"labels"`
	Logging      *loggingConfig      `cty:"logging"`
	Healthchecks *struct {
		Disable bool `cty:"disable"`
	} `cty:"healthchecks"`

	ContainerExistsAttempts int `cty:"container_exists_attempts"`
}

type authConfig struct {
	Username      string `cty:"username"`
	Password      string `cty:"password"`
	Email         string `cty:"email"` // registries have long ceased to ask for it
	ServerAddress string `cty:"server_address"`
}

type loggingConfig struct {
	Type   string              `cty:"type"`
	Driver string              `cty:"driver"` // the same by another name
	Config []map[string]string `cty:"config"`
}

type deviceConfig struct {
	HostPath          string `cty:"host_path"`
	ContainerPath     string `cty:"container_path"`
	CgroupPermissions string `cty:"cgroup_permissions"`
}

type mountConfig struct {
	Type        string `cty:"type"`
	Target      string `cty:"target"`
	Source      string `cty:"source"`
	Readonly    bool   `cty:"readonly"`
	BindOptions *struct {
		Propagation string `cty:"propagation"`
	} `cty:"bind_options"`
	TmpfsOptions *struct {
		Size int64 `cty:"size"` // bytes
		Mode int64 `cty:"mode"` // permissions, such as 511 for 0777
	} `cty:"tmpfs_options"`
	VolumeOptions *volumeOptions `cty:"volume_options"`
}

type volumeOptions struct {
	NoCopy       bool                `cty:"no_copy"`
	Labels       []map[string]string `cty:"labels"`
	DriverConfig *struct {
		Name    string              `cty:"name"`
		Options []map[string]string `cty:"options"`
	} `cty:"driver_config"`
}

// The defaults of options, as in Nomad.
const (
	defaultCFSPeriod         = 100_000 // microseconds
	defaultDevicePermissions = "rwm"
)

// decodeConfig decodes the config block of a task.
func (o *options) decodeConfig(val cty.Value) (*taskConfig, error) {
	if val == cty.NilVal {
		return nil, errors.New("failed to decode driver config: it is missing")
	}
	c := taskConfig{
		ImagePullTimeout:        o.ImagePullTimeout,
		CPUCFSPeriod:            defaultCFSPeriod,
		ContainerExistsAttempts: o.ContainerExistsAttempts,
	}
	if err := taskenv.Decode(val, &c); err != nil {
		return nil, fmt.Errorf("failed to decode driver config: %w", err)
	}
	c.Image = strings.TrimPrefix(c.Image, "https://")
	c.Mount = append(c.Mount, c.Mounts...)
	c.PIDMode, c.IPCMode, c.UTSMode = strings.TrimSpace(c.PIDMode), strings.TrimSpace(c.IPCMode), strings.TrimSpace(c.UTSMode)
	if err := errors.Join(c.validate(), o.permit(&c)); err != nil {
		return nil, err
	}
	if c.PidsLimit <= 0 {
		c.PidsLimit = o.PidsLimit
	}
	c.CapDrop = append(c.CapDrop, o.deniedCaps(c.CapAdd)...)
	return &c, nil
}

func (c *taskConfig) validate() error {
	switch {
	case c.Image == "":
		return errors.New("image name required for docker driver")
	case c.MemoryHardLimit < 0:
		return errors.New("memory_hard_limit must not be negative")
	case len(c.Ports) > 0 && len(c.PortMap) > 0:
		return errors.New("ports and port_map cannot be used together")
	}
	return nil
}

// merge joins maps; later ones win.
func merge[V any](list []map[string]V) map[string]V {
	if len(list) == 0 {
		return nil
	}
	whole := make(map[string]V)
	for _, m := range list {
		maps.Copy(whole, m)
	}
	return whole
}

// sortedKeys makes what comes from a map come in one order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
