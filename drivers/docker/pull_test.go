package docker_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/dockertest"
	"taskrun/drivers/drivertest"
)

// pull starts a task that ends at once, and returns the messages of its events.
func pull(t *testing.T, image, more string) (messages []string, err error) {
	t.Helper()
	err = pullWatched(t, image, more, func(e drivers.TaskEvent) {
		if e.Progress == nil {
			messages = append(messages, e.Message)
		}
	})
	return messages, err
}

// pullWatched starts a task that ends at once, and calls report with its events.
func pullWatched(t *testing.T, image, more string, report func(drivers.TaskEvent)) error {
	t.Helper()
	d := docker.New(docker.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, err := d.TaskEvents(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = d.Shutdown(context.Background()) })
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		for e := range events {
			if e.Message == "that was all" {
				return
			}
			report(e)
		}
	}()
	cfg, _ := drivertest.Task(t, d, fmt.Sprintf("image = %q\ncommand = \"true\"\n%s", image, more))
	_, _, err = d.StartTask(t.Context(), cfg)
	if err == nil {
		if r := result(t, d, cfg.ID); r.ExitCode != 0 {
			t.Errorf("it ended with %+v", r)
		}
		if err := d.DestroyTask(cfg.ID, false); err != nil {
			t.Error(err)
		}
	}
	d.Emit(drivers.TaskEvent{Message: "that was all"})
	<-listened
	return err
}

// TestPullProgress checks the live progress, and the event of a long pull.
func TestPullProgress(t *testing.T) {
	t.Parallel()
	r := dockertest.NewRegistry(t)
	release := r.Hold()
	defer release()
	var last, over drivers.Progress
	var messages []string
	err := pullWatched(t, r.Image+":1", "", func(e drivers.TaskEvent) {
		switch p := e.Progress; {
		case p == nil:
			if messages = append(messages, e.Message); len(messages) == 2 {
				release()
			}
		case p.Over:
			over = *p
		case len(messages) == 1:
			last = *p
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if last.Done < 1 || last.Done > int64(len(r.Layer)) || last.Total != int64(len(r.Layer)) || last.Detail != "0 of 1 layers" || last.What != r.Image+":1" {
		t.Errorf("the progress is %+v", last)
	}
	if over.What != last.What {
		t.Errorf("the end is %+v", over)
	}
	if len(messages) < 2 || !regexp.MustCompile(`^Docker image pull progress: Pulled 0/1 \([\d.]+[KM]iB/[\d.]+MiB\) layers: 0 waiting/1 pulling$`).MatchString(messages[1]) {
		t.Errorf("the messages are %q", messages)
	}
}

func TestPull(t *testing.T) {
	t.Parallel()
	r := dockertest.NewRegistry(t)
	for _, c := range []struct {
		image, more string
		messages    string
	}{
		{r.Image + ":1", "", "Downloading image"},
		{r.Image + ":1", "", ""},
		{"https://" + r.Image + ":1", "force_pull = true", "Downloading image"},
		{r.Image, "", "Downloading image"}, // the order may vary
	} {
		if messages, err := pull(t, c.image, c.more); strings.Join(messages, "; ") != c.messages || err != nil {
			t.Errorf("%s %s: the messages are %q, %v", c.image, c.more, messages, err)
		}
	}
	if n := r.Pulls.Load(); n != 1 {
		t.Errorf("the layer was fetched %d times", n)
	}
}

func TestPullFails(t *testing.T) {
	t.Parallel()
	r := dockertest.NewRegistry(t)
	// A registry that accepts connections and never responds.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for _, c := range []struct{ name, image, more, want string }{
		{"no such image", r.Image + ":2", "", "Failed to pull `" + r.Image + ":2`: "},
		{"nobody there", "127.0.0.1:1/x:1", "", "Failed to pull `127.0.0.1:1/x:1`: "},
		{"no answer", silent.Addr().String() + "/x:1", `image_pull_timeout = "1s"`, "image_pull_timeout of 1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			messages, err := pull(t, c.image, c.more)
			if err == nil || !strings.Contains(err.Error(), c.want) || !drivers.IsRecoverable(err) || len(messages) != 1 {
				t.Errorf("the messages are %q, %v (recoverable: %v)", messages, err, drivers.IsRecoverable(err))
			}
		})
	}
	if _, err := pull(t, "not an image", ""); err == nil || drivers.IsRecoverable(err) {
		t.Errorf("a name that is none: %v", err)
	}
}

func TestLocalLatestWithoutARegistry(t *testing.T) {
	t.Parallel()
	cli := dockertest.Need(t)
	const image = "127.0.0.1:1/here"
	if _, err := cli.ImageTag(t.Context(), client.ImageTagOptions{Source: dockertest.Image, Target: image + ":latest"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dockertest.RemoveImage(cli, image) })
	messages, err := pull(t, image, "")
	if err != nil || len(messages) != 2 || !strings.HasPrefix(messages[1], "Using the image "+image+" that is here: Failed to pull") {
		t.Errorf("the messages are %q, %v", messages, err)
	}
	if _, err := pull(t, image, "force_pull = true"); err == nil {
		t.Error("force_pull did without the registry")
	}
}

// TestCredentials uses those of the task, of the docker command's file and of a
// helper.
func TestCredentials(t *testing.T) {
	r := dockertest.NewRegistry(t)
	r.Demand("me:secret")
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	server, _, _ := strings.Cut(r.Image, "/")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	try := func(name, more string, well bool) {
		t.Helper()
		messages, err := pull(t, r.Image+":1", "force_pull = true\n"+more)
		if well != (err == nil) {
			t.Errorf("%s: the messages are %q, %v", name, messages, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: a secret is shown: %v", name, err)
		}
	}
	try("nobody", "", false)
	try("the task", "auth {\nusername = \"me\"\npassword = \"secret\"\n}", true)
	try("the wrong one", "auth {\nusername = \"me\"\npassword = \"no\"\n}", false)
	write("config.json", fmt.Sprintf(`{"auths": {%q: {"auth": "bWU6c2VjcmV0"}}}`, server))
	try("the file", "", true)
	write("config.json", `{"credsStore": "taskrun-test"}`)
	write("docker-credential-taskrun-test", fmt.Sprintf(`#!/bin/sh
read s; [ "$1 $s" = "get %s" ] || exit 9
echo '{"Username": "me", "Secret": "secret"}'
`, server))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	try("the helper", "", true)
	write("docker-credential-taskrun-test", "#!/bin/sh\necho broken helper; exit 1\n")
	try("a broken helper", "", false)
	try("a broken helper, softly", "auth_soft_fail = true", false) // because the registry requires a login
	write("config.json", "{")
	try("a broken file", "", false)
}

// TestLoad loads the image from an archive of the task, but as in Nomad only if
// the engine does not have it, or with force_pull.
func TestLoad(t *testing.T) {
	t.Parallel()
	cli := dockertest.Need(t)
	const image = "taskrun-test/loaded"
	if err := dockertest.Import(t.Context(), cli, image+":1", `CMD ["/bin/sh"]`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dockertest.RemoveImage(cli, image) })
	saved, err := cli.ImageSave(t.Context(), []string{image + ":1"})
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	archive, err := io.ReadAll(saved)
	if err != nil {
		t.Fatal(err)
	}
	const task = "image = \"" + image + ":1\"\ncommand = \"true\"\nload = \"image.tar\"\n"
	for _, c := range []struct {
		name, more string
		there      bool
		put        func(path string) error // nil: no archive
		err        string
	}{
		{name: "neither", err: "cannot load image"},
		{name: "archive", put: func(path string) error { return os.WriteFile(path, archive, 0o600) }},
		{name: "image", there: true},
		{name: "image, but forced", there: true, more: "force_pull = true", err: "cannot load image"},
		{name: "FIFO", put: func(path string) error { return syscall.Mkfifo(path, 0o600) }, err: `"image.tar" is not a regular file`},
		{name: "no archive", put: func(path string) error { return os.WriteFile(path, []byte("text"), 0o600) }, err: "image.tar"},
	} {
		if !c.there {
			dockertest.RemoveImage(cli, image)
		}
		d := docker.New(docker.Config{})
		cfg, _ := drivertest.Task(t, d, task+c.more)
		local := filepath.Join(cfg.TaskDir(), "local")
		if err := os.MkdirAll(local, 0o755); err != nil {
			t.Fatal(err)
		}
		if c.put != nil {
			if err := c.put(filepath.Join(local, "image.tar")); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := d.StartTask(t.Context(), cfg)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
		if _, err := d.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
