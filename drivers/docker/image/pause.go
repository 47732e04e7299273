package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
)

// pauseProgram is the only file in the image of a container that holds a
// network. The image is built here, because there may be no registry to pull it
// from.
const pauseProgram = "/pause"

// Pause returns the image of a container that holds a network, and the program
// to run in it; nil for the image's own. If the engine does not have the image,
// Pause builds it.
func (s *Store) Pause(ctx context.Context, cli *client.Client, alloc string) (name string, program []string, err error) {
	if s.Options.InfraImage == "" {
		name, err = s.makePause(ctx, cli)
		return name, []string{pauseProgram}, err
	}
	c := &settings.Config{}
	c.Image, c.ImagePullTimeout = s.Options.InfraImage, s.Options.InfraImagePullTimeout
	return c.Image, nil, s.Provide(ctx, cli, &drivers.TaskConfig{AllocID: alloc}, c)
}

func (s *Store) makePause(ctx context.Context, cli *client.Client) (string, error) {
	version, err := cli.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "", daemon.Error("cannot ask the engine for its machine", err)
	}
	m, ok := machines[version.Arch]
	if !ok {
		return "", fmt.Errorf("cannot make the network of the group on a machine of kind %q: use network mode host", version.Arch)
	}
	name := "taskrun/pause:2-" + version.Arch
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := cli.ImageInspect(ctx, name); err == nil {
		return name, nil
	} else if !errdefs.IsNotFound(err) {
		return "", daemon.Error("cannot look for image "+name, err)
	}
	var layer bytes.Buffer
	w, program := tar.NewWriter(&layer), m.program()
	err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: pauseProgram[1:], Mode: 0o755, Size: int64(len(program))})
	_, writeErr := w.Write(program)
	if err := errors.Join(err, writeErr, w.Close()); err != nil {
		return "", fmt.Errorf("cannot make image %s: %w", name, err)
	}
	made, err := cli.ImageImport(ctx, client.ImageImportSource{Source: &layer, SourceName: "-"}, name, client.ImageImportOptions{})
	if err != nil {
		return "", daemon.Error("cannot make image "+name, err)
	}
	defer made.Close()
	if _, err := loadedImage(made); err != nil { // not before its end
		return "", fmt.Errorf("cannot make image %s: %w", name, err)
	}
	return name, nil
}
