package settings

import (
	"maps"
	"slices"
	"time"
)

// Config is the config block of a task; see
// https://developer.hashicorp.com/nomad/docs/drivers/docker#task-configuration.
type Config struct {
	Common

	Load        string   `cty:"load"` // path of an archive below the task's directory
	Auth        *Auth    `cty:"auth"`
	Entrypoint  []string `cty:"entrypoint"`
	WorkDir     string   `cty:"work_dir"`
	Interactive bool     `cty:"interactive"`

	NetworkAliases       []string `cty:"network_aliases"`
	MACAddress           string   `cty:"mac_address"`
	AdvertiseIPv6Address bool     `cty:"advertise_ipv6_address"`
	DNSServers           []string `cty:"dns_servers"`
	DNSSearchDomains     []string `cty:"dns_search_domains"`
	DNSOptions           []string `cty:"dns_options"`

	VolumeDriver string            `cty:"volume_driver"`
	Mount        []Mount           `cty:"mount"`
	Mounts       []Mount           `cty:"mounts"`
	Devices      []Device          `cty:"devices"`
	StorageOpt   map[string]string `cty:"storage_opt"`
	ShmSize      int64             `cty:"shm_size"` // bytes

	GroupAdd   []string `cty:"group_add"`
	CgroupNS   string   `cty:"cgroupns"`
	PIDMode    string   `cty:"pid_mode"`
	UsernsMode string   `cty:"userns_mode"`
	UTSMode    string   `cty:"uts_mode"`
	Isolation  string   `cty:"isolation"`
	Runtime    string   `cty:"runtime"`

	CpusetCPUs      string `cty:"cpuset_cpus"`
	MemoryHardLimit int64  `cty:"memory_hard_limit"` // MiB

	Logging      *Logging `cty:"logging"`
	Healthchecks *struct {
		Disable bool `cty:"disable"`
	} `cty:"healthchecks"`

	ContainerExistsAttempts int `cty:"container_exists_attempts"`

	Extra
}

// Common are the options that podman has as well. A map that may be written as
// several blocks is a list here.
type Common struct {
	Image            string        `cty:"image" required:"true"`
	ImagePullTimeout time.Duration `cty:"image_pull_timeout"`
	ForcePull        bool          `cty:"force_pull"`
	AuthSoftFail     bool          `cty:"auth_soft_fail"`

	Command  string   `cty:"command"`
	Args     []string `cty:"args"`
	Hostname string   `cty:"hostname"`
	Init     bool     `cty:"init"`
	TTY      bool     `cty:"tty"`

	NetworkMode string           `cty:"network_mode"`
	IPv4Address string           `cty:"ipv4_address"`
	IPv6Address string           `cty:"ipv6_address"`
	Ports       []string         `cty:"ports"`
	PortMap     []map[string]int `cty:"port_map"`
	ExtraHosts  []string         `cty:"extra_hosts"`

	Volumes        []string `cty:"volumes"`
	ReadonlyRootfs bool     `cty:"readonly_rootfs"`

	Privileged  bool     `cty:"privileged"`
	CapAdd      []string `cty:"cap_add"`
	CapDrop     []string `cty:"cap_drop"`
	SecurityOpt []string `cty:"security_opt"`
	IPCMode     string   `cty:"ipc_mode"`

	CPUHardLimit bool                `cty:"cpu_hard_limit"`
	CPUCFSPeriod int64               `cty:"cpu_cfs_period"` // microseconds
	OOMScoreAdj  int                 `cty:"oom_score_adj"`
	PidsLimit    int64               `cty:"pids_limit"`
	Sysctl       []map[string]string `cty:"sysctl"`
	Ulimit       []map[string]string `cty:"ulimit"`

	Labels []map[string]string `cty:"labels"`
}

// defaultCFSPeriod is Nomad's, in microseconds.
const defaultCFSPeriod = 100_000

// CommonDefaults returns the options of a task that sets none.
func (o *Options) CommonDefaults() Common {
	return Common{ImagePullTimeout: o.ImagePullTimeout, CPUCFSPeriod: defaultCFSPeriod}
}

// Extra are settings that the docker driver has no option for. Other drivers
// have.
type Extra struct {
	Platform    string   // of the image, "os/arch/variant"; empty: that of the engine
	PreferLocal bool     // use the engine's image, even if its tag is latest
	LocalNames  []string // other names under which the engine may have the image
	Archive     string   // path on this machine of an archive that has the image
	Tmpfs       map[string]string

	KeepHostname bool // even in the network of another container, which Docker refuses

	MemoryReservation int64 // bytes; 0: that of the job
	MemorySwap        int64 // bytes, with the memory; 0: no swap, -1: any
	MemorySwappiness  *int64
}

// Auth is the block auth: credentials for the image's registry.
type Auth struct {
	Username      string `cty:"username"`
	Password      string `cty:"password"`
	Email         string `cty:"email"` // registries no longer ask for it
	ServerAddress string `cty:"server_address"`
}

// Logging is the block logging: the engine's own logging of the output.
type Logging struct {
	Type   string              `cty:"type"`
	Driver string              `cty:"driver"` // the same by another name
	Config []map[string]string `cty:"config"`
}

// Device is one block of devices.
type Device struct {
	HostPath          string `cty:"host_path"`
	ContainerPath     string `cty:"container_path"`
	CgroupPermissions string `cty:"cgroup_permissions"`
}

// Mount is a block mount.
type Mount struct {
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
		Name string              `cty:"name"`
		Opts []map[string]string `cty:"options"`
	} `cty:"driver_config"`
}

// merge joins maps. For the same key the last one counts.
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
