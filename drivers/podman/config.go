package podman

import (
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers/schema"
)

// config is the config block of a task; see
// https://developer.hashicorp.com/nomad/plugins/drivers/podman#task-configuration.
// A map that may be written as several blocks is a list here.
type config struct {
	Image            string        `cty:"image" required:"true"`
	ImagePullTimeout time.Duration `cty:"image_pull_timeout"`
	ForcePull        bool          `cty:"force_pull"`
	Arch             string        `cty:"arch"`
	OS               string        `cty:"os"`
	Variant          string        `cty:"variant"`
	Auth             *auth         `cty:"auth"`
	AuthSoftFail     bool          `cty:"auth_soft_fail"`

	Command    string    `cty:"command"`
	Args       []string  `cty:"args"`
	Entrypoint cty.Value `cty:"entrypoint"` // a string or a list of them
	WorkingDir string    `cty:"working_dir"`
	Hostname   string    `cty:"hostname"`
	Init       bool      `cty:"init"`
	InitPath   string    `cty:"init_path"`
	TTY        bool      `cty:"tty"`
	Socket     string    `cty:"socket"`

	NetworkMode string           `cty:"network_mode"`
	IPv4Address string           `cty:"ipv4_address"`
	IPv6Address string           `cty:"ipv6_address"`
	StaticIPs   []string         `cty:"static_ips"`
	StaticMAC   string           `cty:"static_mac"`
	Ports       []string         `cty:"ports"`
	PortMap     []map[string]int `cty:"port_map"`
	ExtraHosts  []string         `cty:"extra_hosts"`

	Volumes        []string `cty:"volumes"`
	Tmpfs          []string `cty:"tmpfs"`
	Devices        []string `cty:"devices"`
	ReadonlyRootfs bool     `cty:"readonly_rootfs"`
	ShmSize        string   `cty:"shm_size"`

	Privileged      bool     `cty:"privileged"`
	CapAdd          []string `cty:"cap_add"`
	CapDrop         []string `cty:"cap_drop"`
	ApparmorProfile string   `cty:"apparmor_profile"`
	SecurityOpt     []string `cty:"security_opt"`
	SELinuxOpts     []string `cty:"selinux_opts"`
	IPCMode         string   `cty:"ipc_mode"`
	Userns          string   `cty:"userns"`

	CPUHardLimit      bool                `cty:"cpu_hard_limit"`
	CPUCFSPeriod      int64               `cty:"cpu_cfs_period"` // microseconds
	MemoryReservation string              `cty:"memory_reservation"`
	MemorySwap        string              `cty:"memory_swap"`
	MemorySwappiness  *int64              `cty:"memory_swappiness"`
	OOMScoreAdj       int                 `cty:"oom_score_adj"`
	PidsLimit         int64               `cty:"pids_limit"`
	Sysctl            []map[string]string `cty:"sysctl"`
	Ulimit            []map[string]string `cty:"ulimit"`

	Labels  []map[string]string `cty:"labels"`
	Logging *logging            `cty:"logging"`
}

// auth is the block auth: credentials for the image's registry.
type auth struct {
	Username  string `cty:"username"`
	Password  string `cty:"password"`
	TLSVerify *bool  `cty:"tls_verify"`
}

// logging is the block logging.
type logging struct {
	Driver  string              `cty:"driver"`
	Options []map[string]string `cty:"options"`
}

// taskSchema is computed on first use: most runs have no such task.
var taskSchema = sync.OnceValue(schema.Of[config])
