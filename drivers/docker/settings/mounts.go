package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
)

// The directories of a task as it sees them.
const (
	insideAlloc   = "/alloc"
	insideLocal   = "/local"
	insideSecrets = "/secrets"
)

// mount adds the directories of the task and its volumes to a container.
func (b *Builder) mount(cfg *drivers.TaskConfig, c *Config, host *container.HostConfig) error {
	own, shared := allocdir.TaskOf(cfg.AllocDir, cfg.Name), allocdir.SharedOf(cfg.AllocDir)
	for _, dir := range []string{shared.Dir, shared.Logs, own.Local, own.Secrets} {
		if err := os.MkdirAll(dir, 0o777); err != nil { // hooks made them, except in tests
			return fmt.Errorf("cannot make directory %q: %w", dir, err)
		}
	}
	b.bind(shared.Dir, insideAlloc, false, host)
	b.bind(shared.Logs, insideAlloc+"/logs", true, host)
	b.bind(own.Local, insideLocal, false, host)
	b.bind(own.Secrets, insideSecrets, false, host)
	for _, m := range cfg.Mounts {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: m.HostPath, Target: m.TaskPath, ReadOnly: m.Readonly,
			BindOptions: &mount.BindOptions{Propagation: propagations[m.PropagationMode]},
		})
	}
	for _, v := range c.Volumes {
		if err := b.volume(cfg, c, v, host); err != nil {
			return err
		}
	}
	for _, m := range c.Mount {
		made, err := b.mountBlock(cfg, m)
		if err != nil {
			return err
		}
		if made != nil {
			host.Mounts = append(host.Mounts, *made)
		}
	}
	return nil
}

// bind mounts a directory of the allocation.
func (b *Builder) bind(source, target string, readonly bool, host *container.HostConfig) {
	if label := b.Options.Volumes.SELinuxLabel; label != "" { // only binds can have one
		mode := map[bool]string{false: "rw", true: "ro"}[readonly]
		host.Binds = append(host.Binds, strings.Join([]string{source, target, mode + "," + label}, ":"))
		return
	}
	host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: readonly})
}

// propagations maps the modes of a volume_mount to the engine's.
var propagations = map[string]mount.Propagation{
	"private":       mount.PropagationRPrivate,
	"host-to-task":  mount.PropagationRSlave,
	"bidirectional": mount.PropagationRShared,
}

// volume adds a volume of the option volumes, "source:target[:mode]".
func (b *Builder) volume(cfg *drivers.TaskConfig, c *Config, text string, host *container.HostConfig) error {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
		return fmt.Errorf("invalid docker volume %q: not <src>:<destination> format", text)
	}
	if c.VolumeDriver == "" {
		source, err := b.source(cfg, parts[0])
		if err != nil || source == "" {
			return err
		}
		if strings.Contains(source, ":") {
			return fmt.Errorf("cannot mount volume %q: its source %q has a colon; use a mount block", text, source)
		}
		if err := makeSource(cfg, source); err != nil {
			return err
		}
		parts[0] = source
		if label := b.Options.Volumes.SELinuxLabel; label != "" {
			parts = append(parts[:2], strings.Join(append(parts[2:], label), ","))
		}
	}
	host.Binds = append(host.Binds, strings.Join(parts, ":"))
	return nil
}

// mountBlock returns the mount of a mount block; nil if there is nothing to
// mount.
func (b *Builder) mountBlock(cfg *drivers.TaskConfig, m Mount) (*mount.Mount, error) {
	out := &mount.Mount{Type: mount.Type(cmp.Or(m.Type, string(mount.TypeVolume))), Source: m.Source, Target: m.Target, ReadOnly: m.Readonly}
	switch out.Type {
	case mount.TypeBind:
		var err error
		if out.Source, err = b.source(cfg, m.Source); err != nil || out.Source == "" {
			return nil, err
		}
		if m.BindOptions != nil {
			out.BindOptions = &mount.BindOptions{Propagation: mount.Propagation(m.BindOptions.Propagation)}
		}
	case mount.TypeTmpfs:
		if out.Source != "" {
			return nil, errors.New(`invalid source, must be "" for tmpfs`)
		}
		if o := m.TmpfsOptions; o != nil {
			out.TmpfsOptions = &mount.TmpfsOptions{SizeBytes: o.Size, Mode: fs.FileMode(o.Mode)}
		}
	case mount.TypeVolume:
		if o := m.VolumeOptions; o != nil {
			out.VolumeOptions = &mount.VolumeOptions{NoCopy: o.NoCopy, Labels: merge(o.Labels)}
			if o.DriverConfig != nil {
				out.VolumeOptions.DriverConfig = &mount.Driver{Name: o.DriverConfig.Name, Options: merge(o.DriverConfig.Opts)}
			}
		}
	default:
		return nil, fmt.Errorf(`invalid mount type, must be "bind", "volume", "tmpfs": %q`, m.Type)
	}
	return out, nil
}

// source returns the path on this machine of a source in the job file. A relative
// path is in the task's directory; /alloc, /local and /secrets are the task's own
// directories. The result "" means that nothing is mounted.
func (b *Builder) source(cfg *drivers.TaskConfig, path string) (string, error) {
	own, shared := allocdir.TaskOf(cfg.AllocDir, cfg.Name), allocdir.SharedOf(cfg.AllocDir)
	if !filepath.IsAbs(path) {
		path = filepath.Join(own.Dir, path)
	}
	path = filepath.Clean(path)
	for inside, dir := range map[string]string{insideAlloc: shared.Dir, insideLocal: own.Local, insideSecrets: own.Secrets} {
		if rest, ok := below(inside, path); ok {
			return filepath.Join(dir, rest), nil
		}
	}
	if _, ok := below(cfg.AllocDir, path); ok {
		return path, nil
	}
	if !b.Options.Volumes.Enabled {
		return "", fmt.Errorf("volumes are not enabled; cannot mount host paths: %q", path)
	}
	if b.HostPath == nil {
		return path, nil
	}
	return b.HostPath(path)
}

// below returns the part of a path below a directory.
func below(dir, path string) (rest string, ok bool) {
	if path == dir {
		return "", true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// makeSource makes a missing source directory in the allocation. The engine would
// make it too, but owned by root.
func makeSource(cfg *drivers.TaskConfig, path string) error {
	rest, ok := below(cfg.AllocDir, path)
	if !ok || rest == "" {
		return nil
	}
	root, err := os.OpenRoot(cfg.AllocDir)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Stat(rest); err == nil {
		return nil
	}
	if err := root.MkdirAll(rest, 0o777); err != nil {
		return fmt.Errorf("cannot make the source of a volume: %w", err)
	}
	return nil
}
