package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
)

// create makes the container of a task, which does not run yet.
func (d *Driver) create(ctx context.Context, cli *client.Client, cfg *drivers.TaskConfig, c *taskConfig) (string, error) {
	opts, err := d.builder.containerOptions(cfg, c)
	if err != nil {
		return "", fmt.Errorf("Failed to create container configuration for image %q (%q): %w", c.Image, imageID(ctx, cli, c.Image), err) //nolint:staticcheck // Nomad's words
	}
	if err := c.checkMAC(ctx, cli); err != nil {
		return "", err
	}
	d.use()
	pause := 50 * time.Millisecond
	for attempt := 1; ; attempt++ {
		made, err := cli.ContainerCreate(ctx, opts)
		switch {
		case err == nil:
			return made.ID, nil
		case !errdefs.IsConflict(err) || attempt > c.ContainerExistsAttempts:
			return "", engineError("failed to create container", err)
		}
		// The name holds the allocation's ID, so what has it is a leftover of
		// an earlier start.
		if err := removeContainer(ctx, cli, opts.Name); err != nil {
			return "", engineError("Failed to purge container "+opts.Name, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		pause *= 2
	}
}

// imageID returns the ID of an image that the engine has; empty when it does not
// answer.
func imageID(ctx context.Context, cli *client.Client, image string) string {
	info, err := cli.ImageInspect(ctx, image)
	if err != nil {
		return ""
	}
	return info.ID
}

// containerName is Nomad's: the task and the allocation's ID.
func containerName(task, alloc string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, task)
	return strings.TrimLeft(name, "._-") + "-" + alloc
}

// builder describes containers to the engine.
type builder struct {
	options  *options
	run      string                            // see Config.Run
	hostPath func(path string) (string, error) // nil: the path itself
}

func (b *builder) containerOptions(cfg *drivers.TaskConfig, c *taskConfig) (client.ContainerCreateOptions, error) {
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
		Config: config, HostConfig: host, NetworkingConfig: endpoints, Name: containerName(cfg.Name, cfg.AllocID),
	}, nil
}

// containerConfig is what of a container does not depend on this machine.
func (b *builder) containerConfig(cfg *drivers.TaskConfig, c *taskConfig) *container.Config {
	labels := merge(c.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, b.options.extraLabels(cfg))
	maps.Copy(labels, b.labels(cfg))
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

// hostConfig is what of a container depends on this machine, but the network.
func (b *builder) hostConfig(cfg *drivers.TaskConfig, c *taskConfig) (*container.HostConfig, error) {
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
		Sysctls:        merge(c.Sysctl),
		LogConfig:      logConfig(c.Logging, b.options.logging()),
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

// logConfig returns where the engine keeps the output besides us. By default
// that is a small file: it is read after this program was killed.
func logConfig(task, plugin *loggingConfig) container.LogConfig {
	for _, c := range []*loggingConfig{task, plugin} {
		if c == nil {
			continue
		}
		log := container.LogConfig{Type: orElse(c.Type, c.Driver), Config: merge(c.Config)}
		if log.Type != "" || log.Config != nil {
			return log
		}
	}
	return container.LogConfig{Type: "json-file", Config: map[string]string{"max-file": "2", "max-size": "2m"}}
}

// mute reports whether the engine cannot give back the output of a container.
// Nomad reads the output from there, so such a task has none.
func mute(log container.LogConfig) bool {
	switch log.Type {
	case "none":
		return true
	case "", "json-file", "local", "journald":
		return false
	}
	disabled, _ := strconv.ParseBool(log.Config["cache-disabled"]) // the engine refuses other text
	return disabled
}

var errNoDevice = errors.New("host path must be set in configuration for devices")
