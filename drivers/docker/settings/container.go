package settings

import (
	"cmp"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

// ContainerName returns Nomad's name of a container: the task and the
// allocation's ID.
func ContainerName(task, alloc string) string {
	return strings.TrimLeft(plain(task), "._-") + "-" + alloc
}

// plain replaces the characters of a name that engines refuse.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
}

// Container describes the container of a task.
func (b *Builder) Container(cfg *drivers.TaskConfig, c *Config) (client.ContainerCreateOptions, error) {
	switch {
	case c.Isolation != "":
		return client.ContainerCreateOptions{}, fmt.Errorf("Failed to create container configuration, cannot use isolation mode %q on %s", c.Isolation, runtime.GOOS) //nolint:staticcheck // Nomad's words
	case c.Command != strings.TrimSpace(c.Command):
		return client.ContainerCreateOptions{}, fmt.Errorf("command contains extra white space: %q", c.Command)
	}
	config := b.containerConfig(cfg, c)
	host, err := b.hostConfig(cfg, c)
	if err != nil {
		return client.ContainerCreateOptions{}, err
	}
	endpoints, err := c.connect(cfg, config, host)
	if err != nil {
		return client.ContainerCreateOptions{}, err
	}
	return client.ContainerCreateOptions{
		Config: config, HostConfig: host, NetworkingConfig: endpoints, Name: ContainerName(cfg.Name, cfg.AllocID),
	}, nil
}

// containerConfig returns the part of a container that does not depend on this
// machine.
func (b *Builder) containerConfig(cfg *drivers.TaskConfig, c *Config) *container.Config {
	labels := merge(append(slices.Clone(c.Labels), b.Options.extraLabels(cfg), map[string]string{
		daemon.LabelAlloc: cfg.AllocID, daemon.LabelRun: b.Run, daemon.LabelTask: cfg.ID, daemon.LabelDir: cfg.AllocDir,
	}))
	config := &container.Config{
		Image:      c.Image,
		User:       cfg.User,
		Hostname:   c.Hostname,
		WorkingDir: c.WorkDir,
		Entrypoint: c.Entrypoint,
		Tty:        c.TTY,
		OpenStdin:  c.Interactive,
		Labels:     labels,
	}
	env := c.environment(cfg)
	for _, name := range sortedKeys(env) {
		config.Env = append(config.Env, name+"="+env[name])
	}
	switch {
	case c.Command != "":
		config.Cmd = append([]string{c.Command}, c.Args...)
	case len(c.Args) > 0:
		config.Cmd = c.Args
	}
	if c.Healthchecks != nil && c.Healthchecks.Disable {
		config.Healthcheck = &container.HealthConfig{Test: []string{"NONE"}}
	}
	return config
}

// hostConfig returns the part of a container that depends on this machine,
// without the network.
func (b *Builder) hostConfig(cfg *drivers.TaskConfig, c *Config) (*container.HostConfig, error) {
	host := &container.HostConfig{
		VolumeDriver:   c.VolumeDriver,
		Privileged:     c.Privileged,
		CapAdd:         c.CapAdd,
		CapDrop:        c.CapDrop,
		GroupAdd:       c.GroupAdd,
		CgroupnsMode:   container.CgroupnsMode(c.CgroupNS),
		IpcMode:        container.IpcMode(c.IPCMode),
		PidMode:        container.PidMode(c.PIDMode),
		UTSMode:        container.UTSMode(c.UTSMode),
		UsernsMode:     container.UsernsMode(c.UsernsMode),
		Runtime:        c.Runtime,
		OomScoreAdj:    c.OOMScoreAdj,
		ReadonlyRootfs: c.ReadonlyRootfs,
		ShmSize:        c.ShmSize,
		StorageOpt:     c.StorageOpt,
		Tmpfs:          c.Tmpfs,
		Sysctls:        merge(c.Sysctl),
		LogConfig:      b.logConfig(c.Logging),
	}
	if c.Init {
		host.Init = &c.Init
	}
	var err error
	if host.SecurityOpt, err = securityOptions(c.SecurityOpt); err != nil {
		return nil, fmt.Errorf("failed to parse security_opt configuration: %w", err)
	}
	if host.Resources, err = resources(cfg, c); err != nil {
		return nil, err
	}
	if err := b.mount(cfg, c, host); err != nil {
		return nil, err
	}
	return host, nil
}

// logConfig returns the engine's own logging of the output, by the task, by the
// driver's options, or to a small file, which is read if this program is
// killed.
func (b *Builder) logConfig(c *Logging) container.LogConfig {
	if c != nil && (cmp.Or(c.Type, c.Driver) != "" || len(c.Config) > 0) {
		return container.LogConfig{Type: cmp.Or(c.Type, c.Driver), Config: merge(c.Config)}
	}
	if o := b.Options.Logging; o != nil && (o.Type != "" || o.Config != nil) {
		return container.LogConfig{Type: o.Type, Config: o.Config}
	}
	return container.LogConfig{Type: "json-file", Config: map[string]string{"max-file": "2", "max-size": "2m"}}
}

// Mute reports whether a task has no output: by disable_log_collection, or
// because the engine cannot give back the output of its container. Nomad reads
// the output from there.
func (o *Options) Mute(log container.LogConfig) bool {
	switch log.Type {
	case "none":
		return true
	case "", "json-file", "local", "journald":
		return o.DisableLogCollection
	}
	disabled, _ := strconv.ParseBool(log.Config["cache-disabled"]) // the engine refuses other text
	return disabled || o.DisableLogCollection
}

// extraLabels returns the labels of a task that match extra_labels.
func (o *Options) extraLabels(cfg *drivers.TaskConfig) map[string]string {
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
