package docker

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/schema"
	"taskrun/jobspec/taskenv"
)

var (
	_ drivers.Configurable = (*Driver)(nil)
	_ drivers.Unheeder     = (*Driver)(nil)
)

// options are those of the driver for all its tasks. What Nomad forbids unless
// an option allows it is allowed here unless one forbids it: the engine is the
// user's own.
type options struct {
	Endpoint string       `cty:"endpoint"`
	TLS      *tlsOptions  `cty:"tls"`
	Auth     *authOptions `cty:"auth"`

	ImagePullTimeout        time.Duration `cty:"image_pull_timeout"`
	PullActivityTimeout     time.Duration `cty:"pull_activity_timeout"`
	InfraImage              string        `cty:"infra_image"` // empty: made here
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

	ExtraLabels          []string `cty:"extra_labels"`
	DisableLogCollection bool     `cty:"disable_log_collection"`
	Logging              *struct {
		Type   string            `cty:"type"`
		Config map[string]string `cty:"config"`
	} `cty:"logging"`

	// Known, but without effect: see Unheeded.
	GC                     cty.Value `cty:"gc"`
	AllowedModes           []string  `cty:"allowed_modes"`
	NvidiaRuntime          string    `cty:"nvidia_runtime"`
	WindowsAllowInsecureCA bool      `cty:"windows_allow_insecure_container_admin"`
}

// authOptions say where credentials are instead of the docker command's.
type authOptions struct {
	Config string `cty:"config"` // path of a file like the docker command's
	Helper string `cty:"helper"` // for all registries
}

// tlsOptions are paths of files.
type tlsOptions struct {
	Cert string `cty:"cert" json:"cert,omitempty"`
	Key  string `cty:"key" json:"key,omitempty"`
	CA   string `cty:"ca" json:"ca,omitempty"`
}

func defaultOptions() options {
	o := options{
		ImagePullTimeout:        5 * time.Minute,
		PullActivityTimeout:     2 * time.Minute,
		InfraImagePullTimeout:   5 * time.Minute,
		ContainerExistsAttempts: 5,
		AllowPrivileged:         true,
	}
	o.Volumes.Enabled = true
	return o
}

var pluginSchema = schema.Join(
	schema.Optional(cty.String, "endpoint", "image_pull_timeout", "infra_image", "infra_image_pull_timeout", "nvidia_runtime", "pull_activity_timeout"),
	schema.Optional(cty.Bool, "allow_privileged", "disable_log_collection", "windows_allow_insecure_container_admin"),
	schema.Optional(cty.Number, "container_exists_attempts", "pids_limit"),
	schema.Optional(schema.Texts, "allow_caps", "allow_runtimes", "allowed_modes", "extra_labels"),
	schema.Block("auth", schema.Optional(cty.String, "config", "helper")),
	schema.Block("tls", schema.Optional(cty.String, "cert", "key", "ca")),
	schema.Block("volumes", schema.Optional(cty.Bool, "enabled"), schema.Optional(cty.String, "selinuxlabel")),
	schema.Block("logging", schema.Optional(cty.String, "type"),
		hcldec.ObjectSpec{"config": &hcldec.BlockAttrsSpec{TypeName: "config", ElementType: cty.String}}),
	schema.Block("gc", schema.Optional(cty.Bool, "image", "container"), schema.Optional(cty.String, "image_delay"),
		schema.Block("dangling_containers",
			schema.Optional(cty.Bool, "enabled", "dry_run"), schema.Optional(cty.String, "period", "creation_grace"))),
)

// ConfigSchema describes the options of the driver; see
// https://developer.hashicorp.com/nomad/docs/deploy/task-driver/docker#plugin-options.
func (d *Driver) ConfigSchema() hcldec.Spec { return pluginSchema }

// SetConfig takes the options of the driver.
func (d *Driver) SetConfig(config cty.Value) error {
	o := defaultOptions()
	err := taskenv.Decode(config, &o)
	if err == nil {
		err = o.validate()
	}
	if err != nil {
		return fmt.Errorf("cannot configure docker: %w", err)
	}
	d.options = o
	return nil
}

func (o *options) validate() error {
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
			return fmt.Errorf("extra_labels: %q is no pattern", name)
		}
	}
	return nil
}

// logging returns the block of that name; nil for none.
func (o *options) logging() *loggingConfig {
	if o.Logging == nil {
		return nil
	}
	c := &loggingConfig{Type: o.Logging.Type}
	if o.Logging.Config != nil {
		c.Config = []map[string]string{o.Logging.Config}
	}
	return c
}

// Unheeded names the options that have no effect.
func (d *Driver) Unheeded(config cty.Value) (list []drivers.Unheeded) {
	given := func(steps ...string) (v cty.Value, ok bool) {
		for v = config; len(steps) > 0 && !v.IsNull(); steps = steps[1:] {
			v = v.GetAttr(steps[0])
		}
		return v, !v.IsNull()
	}
	say := func(instead string, steps ...string) {
		list = append(list, drivers.Unheeded{Option: strings.Join(steps, "."), Instead: instead})
	}
	if v, ok := given("gc", "image"); ok && v.True() {
		say("images stay", "gc", "image")
	}
	if v, ok := given("gc", "container"); ok && v.False() {
		say("containers are removed with their tasks", "gc", "container")
	}
	if _, ok := given("gc", "dangling_containers"); ok {
		say("those of a run that was killed are removed by its keeper, or by taskrun clean", "gc", "dangling_containers")
	}
	if v, ok := given("volumes", "enabled"); ok && v.True() {
		say("--host-paths, or host-paths = true in the config file, gives tasks the paths of this machine", "volumes", "enabled")
	}
	for option, instead := range map[string]string{
		"allowed_modes":                          "the engine allows or refuses modes",
		"nvidia_runtime":                         "tasks get no GPU; write runtime in their config block",
		"windows_allow_insecure_container_admin": "containers are those of Linux",
	} {
		if _, ok := given(option); ok {
			say(instead, option)
		}
	}
	slices.SortFunc(list, func(a, b drivers.Unheeded) int { return strings.Compare(a.Option, b.Option) })
	return list
}

// permit says why a task may not have what it asks for.
func (o *options) permit(c *taskConfig) error {
	const by = "by the options of plugin \"docker\" in the config file"
	if c.Privileged && !o.AllowPrivileged {
		return fmt.Errorf("privileged mode is forbidden %s: allow_privileged is false", by)
	}
	if o.AllowRuntimes != nil && c.Runtime != "" && !slices.Contains(o.AllowRuntimes, c.Runtime) {
		return fmt.Errorf("runtime %q is forbidden %s: allow_runtimes has %s", c.Runtime, by, strings.Join(o.AllowRuntimes, ", "))
	}
	if o.AllowCaps != nil {
		for _, name := range c.CapAdd {
			if !o.allowsCap(name) {
				return fmt.Errorf("cap_add %q is forbidden %s: allow_caps has %s", name, by, strings.Join(o.AllowCaps, ", "))
			}
		}
	}
	if o.PidsLimit > 0 && c.PidsLimit > o.PidsLimit {
		return fmt.Errorf("pids_limit %d is forbidden %s: it is at most %d", c.PidsLimit, by, o.PidsLimit)
	}
	if c.VolumeDriver != "" && !o.Volumes.Enabled {
		return fmt.Errorf("volumes are not enabled; cannot use volume driver %q", c.VolumeDriver)
	}
	return nil
}

// ordinaryCaps are the capabilities that the engine gives every container; see
// https://docs.docker.com/engine/containers/run/#runtime-privilege-and-linux-capabilities.
var ordinaryCaps = []string{
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW",
	"SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}

// deniedCaps returns the ordinary capabilities that a container does not get:
// those missing in allow_caps or, without that option, NET_RAW, which Nomad
// leaves out of its default list. Adding all capabilities adds NET_RAW, too.
func (o *options) deniedCaps(added []string) (denied []string) {
	for _, name := range ordinaryCaps {
		allowed := o.allowsCap(name)
		if o.AllowCaps == nil {
			allowed = name != "NET_RAW" || includesCap(added, name)
		}
		if !allowed {
			denied = append(denied, name)
		}
	}
	return denied
}

func (o *options) allowsCap(name string) bool { return includesCap(o.AllowCaps, name) }

// includesCap reports whether a list of capabilities names one, or all of them.
func includesCap(list []string, name string) bool {
	return slices.ContainsFunc(list, func(listed string) bool {
		return plainCap(listed) == "ALL" || plainCap(listed) == plainCap(name)
	})
}

// plainCap is the name of a capability in one of its spellings.
func plainCap(name string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "CAP_")
}

// extraLabels are those of a task that extra_labels asks for.
func (o *options) extraLabels(cfg *drivers.TaskConfig) map[string]string {
	labels := map[string]string{}
	for name, value := range map[string]string{
		"job_name": cfg.JobName, "job_id": cfg.JobID, "task_group_name": cfg.GroupName, "task_name": cfg.Name,
		"namespace": cfg.Namespace, "node_name": cfg.NodeName, "node_id": cfg.NodeID, "short_alloc_id": cfg.AllocID[:min(8, len(cfg.AllocID))],
	} {
		if slices.ContainsFunc(o.ExtraLabels, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		}) {
			labels["com.hashicorp.nomad."+name] = value
		}
	}
	return labels
}
