// Package settings converts the options of the driver and the config block of a
// task to a container. It talks to no engine.
package settings

import (
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/jobspec/taskenv"
)

// Options are the options of the driver, for all its tasks; see
// https://developer.hashicorp.com/nomad/docs/deploy/task-driver/docker#plugin-options.
// Nomad forbids some things unless an option allows them. Here they are allowed
// unless an option forbids them, since the engine is the user's own.
type Options struct {
	Endpoint string       `cty:"endpoint"`
	TLS      *daemon.TLS  `cty:"tls"`
	Auth     *AuthOptions `cty:"auth"`

	ImagePullTimeout        time.Duration `cty:"image_pull_timeout"`
	PullActivityTimeout     time.Duration `cty:"pull_activity_timeout"`
	InfraImage              string        `cty:"infra_image"` // empty: made by this program
	InfraImagePullTimeout   time.Duration `cty:"infra_image_pull_timeout"`
	ContainerExistsAttempts int           `cty:"container_exists_attempts"`

	AllowPrivileged bool     `cty:"allow_privileged"`
	AllowCaps       []string `cty:"allow_caps"`     // nil: all
	AllowRuntimes   []string `cty:"allow_runtimes"` // nil: all
	PidsLimit       int64    `cty:"pids_limit"`     // 0: none
	Volumes         struct {
		Enabled      bool   `cty:"enabled"`
		SELinuxLabel string `cty:"selinuxlabel"`
	} `cty:"volumes"`

	ExtraLabels          []string    `cty:"extra_labels"`
	DisableLogCollection bool        `cty:"disable_log_collection"`
	Logging              *LogOptions `cty:"logging"`

	// The following options have no effect; see Unheeded.
	GC struct {
		Image      bool   `cty:"image"`
		Container  *bool  `cty:"container"`
		ImageDelay string `cty:"image_delay"`
		Dangling   *struct {
			Enabled       bool   `cty:"enabled"`
			DryRun        bool   `cty:"dry_run"`
			Period        string `cty:"period"`
			CreationGrace string `cty:"creation_grace"`
		} `cty:"dangling_containers"`
	} `cty:"gc"`
	AllowedModes           []string `cty:"allowed_modes"`
	NvidiaRuntime          *string  `cty:"nvidia_runtime"`
	WindowsAllowInsecureCA *bool    `cty:"windows_allow_insecure_container_admin"`
}

// AuthOptions say where to find credentials, instead of the docker command's.
type AuthOptions struct {
	Config string `cty:"config"` // path of a file like the docker command's
	Helper string `cty:"helper"` // for all registries
}

// LogOptions are the logging of tasks without their own block.
type LogOptions struct {
	Type   string            `cty:"type"`
	Config map[string]string `cty:"config"`
}

// Defaults returns the options of a driver that is not configured.
func Defaults() Options {
	o := Options{
		ImagePullTimeout:        5 * time.Minute,
		PullActivityTimeout:     2 * time.Minute,
		InfraImagePullTimeout:   5 * time.Minute,
		ContainerExistsAttempts: 5,
		AllowPrivileged:         true,
	}
	o.Volumes.Enabled = true
	return o
}

// DecodeOptions decodes the options of the driver and checks them.
func DecodeOptions(config cty.Value) (Options, error) {
	o := Defaults()
	err := taskenv.Decode(config, &o)
	if err == nil {
		err = o.Validate()
	}
	return o, err
}

// Validate returns an error for an option with an impossible value.
func (o *Options) Validate() error {
	switch {
	case o.ImagePullTimeout <= 0:
		return errors.New("image_pull_timeout must be more than 0")
	case o.PullActivityTimeout <= 0:
		return errors.New("pull_activity_timeout must be more than 0")
	case o.InfraImagePullTimeout <= 0:
		return errors.New("infra_image_pull_timeout must be more than 0")
	case o.PidsLimit < 0:
		return errors.New("pids_limit must not be negative")
	}
	if l := o.Volumes.SELinuxLabel; l != "" && l != "z" && l != "Z" {
		return fmt.Errorf("volumes: selinuxlabel %q is not one of z, Z", l)
	}
	for _, name := range o.ExtraLabels {
		if _, err := path.Match(name, ""); err != nil {
			return fmt.Errorf("extra_labels: %q is not a pattern", name)
		}
	}
	return nil
}

// Ineffective are the options of a task or a driver that have no effect.
type Ineffective []drivers.Unheeded

// Add adds an option if it is given.
func (list *Ineffective) Add(given bool, option, instead string) {
	if given {
		*list = append(*list, drivers.Unheeded{Option: option, Instead: instead})
	}
}

// Unheeded returns the options among the given ones that have no effect.
func Unheeded(config cty.Value) (list Ineffective) {
	var o Options
	if taskenv.Decode(config, &o) != nil {
		return nil // SetConfig reports the error
	}
	list.Add(o.AllowedModes != nil, "allowed_modes", "the engine allows or refuses modes")
	list.Add(o.GC.Container != nil && !*o.GC.Container, "gc.container", "containers are removed with their tasks")
	list.Add(o.GC.Dangling != nil, "gc.dangling_containers", "the keeper of a killed run, or taskrun clean, removes its containers")
	list.Add(o.GC.Image, "gc.image", "images stay")
	list.Add(o.NvidiaRuntime != nil, "nvidia_runtime", "tasks get no GPU; set runtime in their config block")
	list.Add(o.Volumes.Enabled, "volumes.enabled", "--host-paths, or host-paths = true in the config file, gives tasks the paths of this machine")
	list.Add(o.WindowsAllowInsecureCA != nil, "windows_allow_insecure_container_admin", "only Linux containers are supported")
	return list
}

// Builder builds the descriptions of containers.
type Builder struct {
	Options  *Options
	Run      string                            // label of the run
	HostPath func(path string) (string, error) // see drivers.HostPathUser; nil: the path itself
}
