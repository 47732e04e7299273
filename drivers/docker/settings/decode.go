package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/taskenv"
)

// Decode decodes the config block of a task.
func (o *Options) Decode(val cty.Value) (*Config, error) {
	if val == cty.NilVal {
		return nil, errors.New("failed to decode driver config: it is missing")
	}
	c := Config{Common: o.CommonDefaults(), ContainerExistsAttempts: o.ContainerExistsAttempts}
	if err := taskenv.Decode(val, &c); err != nil {
		return nil, fmt.Errorf("failed to decode driver config: %w", err)
	}
	c.Image = strings.TrimPrefix(c.Image, "https://")
	c.Mount = append(c.Mount, c.Mounts...)
	c.PIDMode, c.IPCMode, c.UTSMode = strings.TrimSpace(c.PIDMode), strings.TrimSpace(c.IPCMode), strings.TrimSpace(c.UTSMode)
	switch {
	case c.Image == "":
		return nil, errors.New("image name required for docker driver")
	case c.MemoryHardLimit < 0:
		return nil, errors.New("memory_hard_limit must not be negative")
	case len(c.Ports) > 0 && len(c.PortMap) > 0:
		return nil, errors.New("ports and port_map cannot be used together")
	}
	if err := o.permit(&c); err != nil {
		return nil, err
	}
	if c.PidsLimit <= 0 {
		c.PidsLimit = o.PidsLimit
	}
	c.CapDrop = append(c.CapDrop, o.deniedCaps(c.CapAdd)...)
	return &c, nil
}

// permit returns an error for a config block that the options forbid.
func (o *Options) permit(c *Config) error {
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

// ordinaryCaps are the capabilities that the engine gives containers by default; see
// https://docs.docker.com/engine/containers/run/#runtime-privilege-and-linux-capabilities.
var ordinaryCaps = []string{
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW",
	"SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}

// deniedCaps returns the ordinary capabilities that a container does not get:
// those missing in allow_caps or, without that option, NET_RAW, which Nomad
// leaves out of its default list. Adding all capabilities adds NET_RAW, too.
func (o *Options) deniedCaps(added []string) (denied []string) {
	for _, name := range ordinaryCaps {
		allowed := o.allowsCap(name)
		if o.AllowCaps == nil {
			allowed = name != "NET_RAW" || IncludesCap(added, name)
		}
		if !allowed {
			denied = append(denied, name)
		}
	}
	return denied
}

func (o *Options) allowsCap(name string) bool { return IncludesCap(o.AllowCaps, name) }

// IncludesCap reports whether a list of capabilities names one, or all of them.
func IncludesCap(list []string, name string) bool {
	return slices.ContainsFunc(list, func(listed string) bool {
		return plainCap(listed) == "ALL" || plainCap(listed) == plainCap(name)
	})
}

// plainCap returns a capability's name without prefix, in upper case.
func plainCap(name string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "CAP_")
}
