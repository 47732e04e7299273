package image

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
)

// pauseProgram is the only file in the image of a container that holds a
// network: a program that waits forever. The image is built here, because there
// may be no registry to pull it from.
const pauseProgram = "/pause"

// machine is a program that waits forever, in machine code.
type machine struct {
	elf  elf.Machine
	code []byte
}

// machines are the kinds of machines by their names in the engine's API.
var machines = map[string]machine{
	"amd64": {elf.EM_X86_64, []byte{
		0xb8, 34, 0, 0, 0, // again: mov eax, SYS_pause
		0x0f, 0x05, //            syscall
		0xeb, 0xf7, //            jmp again
	}},
	"arm64": {elf.EM_AARCH64, words(
		0xd2800000, // again: mov x0, 0
		0xd2800001, //        mov x1, 0
		0xd2800002, //        mov x2, 0
		0xd2800003, //        mov x3, 0
		0xd2800004, //        mov x4, 0
		0xd2800928, //        mov x8, SYS_ppoll
		0xd4000001, //        svc 0
		0x17fffff9, //        b again
	)},
}

func words(list ...uint32) (code []byte) {
	for _, w := range list {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	return code
}

// program returns an executable of one segment: its headers and its code.
func (m machine) program() []byte {
	const (
		base    = 0x400000
		headers = 64 + 56 // of the file, and of its one segment
	)
	size := uint64(headers + len(m.code))
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(m.elf), Version: uint32(elf.EV_CURRENT),
		Entry: base + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	b, _ := binary.Append(nil, binary.LittleEndian, h) // sizes are fixed
	b, _ = binary.Append(b, binary.LittleEndian, elf.Prog64{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X),
		Vaddr: base, Paddr: base, Filesz: size, Memsz: size, Align: 0x1000,
	})
	return append(b, m.code...)
}

// Pause returns the image of a container that holds a network, and the program
// to run in it; nil for the image's own. If the engine does not have the image,
// Pause builds it.
func (s *Store) Pause(ctx context.Context, cli *client.Client, alloc string) (name string, program []string, err error) {
	if s.Options.InfraImage == "" {
		name, err = s.makePause(ctx, cli)
		return name, []string{pauseProgram}, err
	}
	c := &settings.Config{Image: s.Options.InfraImage, ImagePullTimeout: s.Options.InfraImagePullTimeout}
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
	name := "taskrun/pause:1-" + version.Arch
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
	if err := drainMessages(made); err != nil {
		return "", fmt.Errorf("cannot make image %s: %w", name, err)
	}
	return name, nil
}
