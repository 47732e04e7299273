// Package dockertest gives tests a Docker engine, an image that needs no registry,
// a registry, and engines that a test may stop.
package dockertest

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// Image is the image that Need makes: a static busybox, with its commands in
// /bin.
const Image = "taskrun-test/busybox:1"

// Need returns a client of the engine at DOCKER_HOST, which has the Image. Without
// an engine or a static busybox it skips the test.
func Need(t testing.TB) *client.Client {
	t.Helper()
	return need(t, "docker", Engine)
}

// NeedPodman returns a client of the Podman at CONTAINER_HOST, which has the
// Image. Without one it skips the test.
func NeedPodman(t testing.TB) *client.Client {
	t.Helper()
	return need(t, "podman", Podman)
}

func need(t testing.TB, name string, engine func() (*client.Client, error)) *client.Client {
	t.Helper()
	cli, err := engine()
	if err != nil {
		t.Skipf("%s: %v", name, err)
	}
	return cli
}

// Podman returns a client of the Podman at CONTAINER_HOST, which has the image.
var Podman = sync.OnceValues(func() (*client.Client, error) {
	host := os.Getenv("CONTAINER_HOST")
	if host == "" {
		return nil, errors.New("CONTAINER_HOST is not set")
	}
	return withImage(client.WithHost(host))
})

// CgroupVersion returns the version of the engine's cgroups.
func CgroupVersion(t testing.TB) string {
	t.Helper()
	engine, err := Need(t).Info(t.Context(), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return engine.Info.CgroupVersion
}

// Engine returns a client of the engine at DOCKER_HOST, which has the image.
var Engine = sync.OnceValues(func() (*client.Client, error) { return withImage(client.FromEnv) })

// Main runs the tests of a package, removes what they made, and reports leaks.
func Main(m *testing.M, leaks func() error) (code int) {
	code = m.Run()
	Close()
	if err := leaks(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// Shell returns the config block of a task that runs a script.
func Shell(script string) string {
	return fmt.Sprintf("image = %q\ncommand = \"/bin/sh\"\nargs = [\"-c\", %q]\n", Image, script)
}

// Close closes the idle connections of both clients.
func Close() {
	for _, engine := range []func() (*client.Client, error){Engine, Podman} {
		if cli, err := engine(); err == nil {
			_ = cli.Close()
		}
	}
}

// withImage returns a client of an engine that has the image.
func withImage(opt client.Opt) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cli, err := client.New(opt)
	if err != nil {
		return nil, err
	}
	if _, err := cli.Ping(ctx, client.PingOptions{}); err != nil {
		return nil, fmt.Errorf("no engine answers: %w", err)
	}
	if _, err := cli.ImageInspect(ctx, Image); err == nil {
		return cli, nil
	}
	return cli, importBusybox(ctx, cli)
}

// busyboxLayer returns the tar of a root directory with the machine's own
// busybox and little else. The mark makes its content unique.
func busyboxLayer(ctx context.Context, mark string) (io.Reader, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, fmt.Errorf("install busybox-static: %w", err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil || slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return nil, errors.Join(fmt.Errorf("%s is not static: install busybox-static", path), err)
	}
	commands, err := exec.CommandContext(ctx, path, "--list").Output()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h tar.Header, content []byte) {
		h.Size = int64(len(content))
		headerErr := w.WriteHeader(&h)
		_, writeErr := w.Write(content)
		err = errors.Join(err, headerErr, writeErr)
	}
	for _, dir := range []string{"bin/", "etc/", "tmp/"} {
		add(tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o1777}, nil)
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644},
		[]byte("root:x:0:0:root:/:/bin/sh\nworker:x:1234:1234:worker:/tmp:/bin/sh\n"))
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/group", Mode: 0o644}, []byte("root:x:0:\nworker:x:1234:\naudio:x:29:\n"))
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/mark", Mode: 0o644}, []byte(mark))
	add(tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, program)
	for command := range bytes.FieldsSeq(commands) {
		if string(command) != "busybox" {
			add(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + string(command), Linkname: "busybox", Mode: 0o777}, nil)
		}
	}
	return &b, errors.Join(err, w.Close())
}

// importBusybox creates the Image.
func importBusybox(ctx context.Context, cli *client.Client) error {
	return Import(ctx, cli, Image, "ENV FROM_IMAGE=yes", `CMD ["/bin/sh"]`)
}

// Import creates an image of the machine's own busybox, with lines of a
// Dockerfile.
func Import(ctx context.Context, cli *client.Client, name string, changes ...string) error {
	layer, err := busyboxLayer(ctx, "")
	if err != nil {
		return err
	}
	done, err := cli.ImageImport(ctx, client.ImageImportSource{Source: layer, SourceName: "-"}, name,
		client.ImageImportOptions{Changes: append([]string{"ENV PATH=/bin"}, changes...)})
	if err != nil {
		return err
	}
	defer done.Close()
	_, err = io.Copy(io.Discard, done)
	return err
}

// Left returns the names of the containers and networks that belong to runs below
// a directory, in all engines for tests.
func Left(dir string) (names []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, engine := range []func() (*client.Client, error){Engine, Podman} {
		cli, none := engine()
		if none != nil {
			continue
		}
		found, failed := namesOf(ctx, cli, dir+"/")
		names, err = append(names, found...), errors.Join(err, failed)
		networks, failed := cli.NetworkList(ctx, client.NetworkListOptions{Filters: client.Filters{}.Add("label", "taskrun.alloc_dir")})
		err = errors.Join(err, failed)
		for _, n := range networks.Items {
			if strings.HasPrefix(n.Labels["taskrun.alloc_dir"], dir+"/") {
				names = append(names, "network "+n.Name)
			}
		}
	}
	return names, err
}

// namesOf returns the names of the containers with an allocation directory that
// has a prefix.
func namesOf(ctx context.Context, cli *client.Client, prefix string) (names []string, err error) {
	list, err := cli.ContainerList(ctx, client.ContainerListOptions{All: true})
	for _, c := range list.Items {
		if strings.HasPrefix(c.Labels["taskrun.alloc_dir"], prefix) {
			names = append(names, c.Names...)
		}
	}
	return names, err
}
