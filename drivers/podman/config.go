package podman

import (
	"sync"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers/docker/settings"
	"taskrun/drivers/schema"
)

// config is the config block of a task; see
// https://developer.hashicorp.com/nomad/plugins/drivers/podman#task-configuration.
type config struct {
	settings.Common

	Arch    string `cty:"arch"`
	OS      string `cty:"os"`
	Variant string `cty:"variant"`
	Auth    *auth  `cty:"auth"`

	Entrypoint cty.Value `cty:"entrypoint"` // a string or a list of them
	WorkingDir string    `cty:"working_dir"`
	InitPath   string    `cty:"init_path"`
	Socket     string    `cty:"socket"`

	StaticIPs []string `cty:"static_ips"`
	StaticMAC string   `cty:"static_mac"`

	Tmpfs   []string `cty:"tmpfs"`
	Devices []string `cty:"devices"`
	ShmSize string   `cty:"shm_size"`

	ApparmorProfile string   `cty:"apparmor_profile"`
	SELinuxOpts     []string `cty:"selinux_opts"`
	Userns          string   `cty:"userns"`

	MemoryReservation string `cty:"memory_reservation"`
	MemorySwap        string `cty:"memory_swap"`
	MemorySwappiness  *int64 `cty:"memory_swappiness"`

	Logging *logging `cty:"logging"`
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
