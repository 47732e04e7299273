package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/registry"

	"taskrun/drivers"
	"taskrun/drivers/docker/settings"
)

// Tasks that start together fetch an image once.
func TestImagesAreLocked(t *testing.T) {
	t.Parallel()
	var s Store
	unlock, err := s.lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.lock(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	other()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more"))
	if _, err := s.lock(ctx, "a"); err == nil || err.Error() != "no more" {
		t.Errorf("it was not locked: %v", err)
	}
	unlock()
	if unlock, err = s.lock(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestPullProgressOfLayers(t *testing.T) {
	t.Parallel()
	p := newProgress("image:1")
	if got := p.live(); got != (drivers.Progress{What: "image:1"}) {
		t.Errorf("at first %+v", got)
	}
	add := func(id, status string, current, total int64) {
		p.add(jsonstream.Message{ID: id, Status: status, Progress: &jsonstream.Progress{Current: current, Total: total}})
	}
	add("", "Pulling from image", 0, 0)
	add("a", "Pulling fs layer", 0, 0)
	add("b", "Waiting", 0, 0)
	add("c", "Already exists", 0, 0)
	if got := p.String(); got != "Pulled 1/3 (0B/0B) layers: 2 waiting/0 pulling" {
		t.Error(got)
	}
	add("a", "Downloading", 1024, 4096)
	p.add(jsonstream.Message{ID: "b", Status: "Downloading"})
	if got := p.String(); got != "Pulled 1/3 (1KiB/4KiB) layers: 0 waiting/2 pulling" {
		t.Error(got)
	}
	add("a", "Download complete", 0, 0)
	add("a", "Extracting", 1, 2)
	add("b", "Downloading", 1024, 2048)
	if got, want := p.live(), (drivers.Progress{What: "image:1", Done: 5120, Total: 6144, Detail: "2 of 3 layers"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Credentials are those of a helper, or of the file, in all their forms.
func TestFindAuth(t *testing.T) { // not parallel: helpers are found in PATH
	dir := t.TempDir()
	helper := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "docker-credential-"+name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	helper("yes", `read server; echo "{\"Username\":\"user\",\"Secret\":\"$server\"}"`)
	helper("token", `echo '{"Username":"<token>","Secret":"t"}'`)
	helper("none", "echo credentials not found in native keychain; exit 1")
	helper("fails", "echo it is locked >&2; exit 1")
	helper("leaks", `echo '{"Secret":"s3cret"}'; exit 1`)
	helper("nonsense", "echo nonsense")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	file := filepath.Join(dir, "config.json")
	for _, c := range []struct {
		config, image string
		want          registry.AuthConfig
		err           string
	}{
		{`{}`, "image", registry.AuthConfig{}, ""},
		{`nonsense`, "image", registry.AuthConfig{}, "cannot read"},
		{`{"credsStore":"yes"}`, "image", registry.AuthConfig{Username: "user", Password: hubAddress, ServerAddress: hubAddress}, ""},
		{`{"credsStore":"fails","credHelpers":{"r.example":"yes"}}`, "r.example/image", registry.AuthConfig{Username: "user", Password: "r.example", ServerAddress: "r.example"}, ""},
		{`{"credsStore":"token"}`, "r.example/image", registry.AuthConfig{IdentityToken: "t", ServerAddress: "r.example"}, ""},
		{`{"credsStore":"none","auths":{"https://r.example/v1/":{"auth":"dXNlcjpwYXNz"}}}`, "r.example/image", registry.AuthConfig{Username: "user", Password: "pass", ServerAddress: "r.example"}, ""},
		{`{"credsStore":"none"}`, "image", registry.AuthConfig{}, ""},
		{`{"credsStore":"fails"}`, "image", registry.AuthConfig{}, `credential helper "fails" failed for`},
		{`{"credsStore":"leaks"}`, "image", registry.AuthConfig{}, `credential helper "leaks" failed for`},
		{`{"credsStore":"nonsense"}`, "image", registry.AuthConfig{}, `credential helper "nonsense" gave no credentials`},
		{`{"auths":{"r.example":{"username":"u","password":"p"}}}`, "r.example/image", registry.AuthConfig{Username: "u", Password: "p", ServerAddress: "r.example"}, ""},
		{
			`{"auths":{"a://r.example":{},"b://r.example":{},"r.example":{"username":"exact"},"z://r.example":{}}}`, "r.example/image",
			registry.AuthConfig{Username: "exact", ServerAddress: "r.example"},
			"",
		},
		{`{"auths":{"other.example":{"username":"u"}}}`, "r.example/image", registry.AuthConfig{}, ""},
		{`{"auths":{"https://index.docker.io/v1/":{"username":"u"}}}`, "image", registry.AuthConfig{Username: "u", ServerAddress: hubAddress}, ""},
		{`{"auths":{"r.example":{"auth":"!"}}}`, "r.example/image", registry.AuthConfig{}, "unreadable credentials"},
		{`{"auths":{"r.example":{"auth":"dXNlcg=="}}}`, "r.example/image", registry.AuthConfig{}, "unreadable credentials"},
		{`{}`, "Not An Image", registry.AuthConfig{}, "invalid reference"},
	} {
		if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		o := &settings.AuthOptions{Config: file}
		got, err := findAuth(t.Context(), o, c.image)
		if c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %+v, %v", c.config, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", c.config, err)
		}
	}
	if _, err := authConfig(&settings.AuthOptions{Config: dir + "/none"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
	if got, err := authConfig(&settings.AuthOptions{Helper: "yes"}); err != nil || got.CredsStore != "yes" {
		t.Errorf("the helper is %+v, %v", got, err)
	}
	t.Setenv("DOCKER_CONFIG", dir)
	for _, o := range []*settings.AuthOptions{nil, {}} {
		if got, err := authConfig(o); err != nil || got == nil {
			t.Errorf("that of the docker command: %+v, %v", got, err)
		}
	}
	fails := &settings.AuthOptions{Helper: "fails"}
	if got, err := authFor(t.Context(), fails, &settings.Config{Common: settings.Common{Image: "image"}}); got != "" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := authFor(t.Context(), fails, &settings.Config{Common: settings.Common{Image: "image", AuthSoftFail: true}}); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := authFor(t.Context(), fails, &settings.Config{Common: settings.Common{Image: "image"}, Auth: &settings.Auth{Username: "u", Password: "p"}}); got == "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
