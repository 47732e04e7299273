package image

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"

	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
)

// hubAddress is the key of Docker Hub's credentials.
const hubAddress = "https://index.docker.io/v1/"

// authFor returns the credentials for the registry of a task's image, encoded
// for the engine; "" if there are none. Those of the task take precedence over
// those of the driver's options. Without options, authFor takes those of the
// docker command: its helpers, then its file.
func authFor(ctx context.Context, options *settings.AuthOptions, c *settings.Config) (string, error) {
	var auth registry.AuthConfig
	if a := c.Auth; a != nil && a.Username != "" {
		auth = registry.AuthConfig{Username: a.Username, Password: a.Password, ServerAddress: a.ServerAddress}
	} else {
		found, err := findAuth(ctx, options, c.Image)
		if err != nil && !c.AuthSoftFail {
			return "", err
		}
		auth = found
	}
	if auth == (registry.AuthConfig{}) {
		return "", nil
	}
	return authconfig.Encode(auth)
}

// findAuth looks up the credentials for the registry of an image.
func findAuth(ctx context.Context, options *settings.AuthOptions, image string) (registry.AuthConfig, error) {
	config, err := authConfig(options)
	if err != nil {
		return registry.AuthConfig{}, err
	}
	ref, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return registry.AuthConfig{}, err
	}
	server := reference.Domain(ref)
	if server == "docker.io" {
		server = hubAddress
	}
	if helper := cmp.Or(config.CredHelpers[server], config.CredsStore); helper != "" {
		auth, err := askHelper(ctx, helper, server)
		if err != nil || auth != (registry.AuthConfig{}) {
			return auth, err
		}
	}
	if entry, ok := config.Auths[server]; ok {
		return decode(entry, server)
	}
	for _, name := range slices.Sorted(maps.Keys(config.Auths)) {
		if hostOf(name) == server {
			return decode(config.Auths[name], server)
		}
	}
	return registry.AuthConfig{}, nil
}

// authConfig returns where to look for credentials.
func authConfig(o *settings.AuthOptions) (*daemon.Config, error) {
	if o == nil || *o == (settings.AuthOptions{}) {
		return daemon.ReadConfig(filepath.Join(daemon.ConfigDir(os.Getenv), "config.json"))
	}
	config := &daemon.Config{}
	if o.Config != "" {
		_, err := os.Stat(o.Config)
		if err == nil {
			config, err = daemon.ReadConfig(o.Config)
		}
		if err != nil {
			return nil, err
		}
	}
	if o.Helper != "" {
		config.CredsStore = o.Helper
	}
	return config, nil
}

// hostOf returns the host of a registry that may be written as a URL.
func hostOf(name string) string {
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	host, _, _ := strings.Cut(name, "/")
	return host
}

// decode returns the credentials of an entry of config.json, whose field auth is
// the base64 of name:password.
func decode(auth registry.AuthConfig, server string) (registry.AuthConfig, error) {
	auth.ServerAddress = server
	if auth.Auth == "" {
		return auth, nil
	}
	text, err := base64.StdEncoding.DecodeString(auth.Auth)
	name, password, ok := strings.Cut(strings.TrimRight(string(text), "\x00"), ":")
	if err != nil || !ok {
		return auth, fmt.Errorf("the docker command's config.json has unreadable credentials for %q", server)
	}
	auth.Username, auth.Password, auth.Auth = name, password, ""
	return auth, nil
}

// askHelper asks a credential helper; see
// https://github.com/docker/docker-credential-helpers. Without credentials it
// returns a zero value.
func askHelper(ctx context.Context, helper, server string) (registry.AuthConfig, error) {
	cmd := exec.CommandContext(ctx, "docker-credential-"+helper, "get")
	cmd.Stdin = strings.NewReader(server)
	cmd.WaitDelay = time.Second // for processes that it has left behind
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stderr.String())
		if !bytes.Contains(stdout.Bytes(), []byte("{")) { // never show credentials
			said = strings.TrimSpace(stdout.String() + said)
		}
		if strings.Contains(said, "credentials not found") {
			return registry.AuthConfig{}, nil
		}
		return registry.AuthConfig{}, fmt.Errorf("credential helper %q failed for %q: %w: %s", helper, server, err, said)
	}
	var answer struct{ Username, Secret string }
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		return registry.AuthConfig{}, fmt.Errorf("credential helper %q gave no credentials for %q: %w", helper, server, err)
	}
	auth := registry.AuthConfig{Username: answer.Username, Password: answer.Secret, ServerAddress: server}
	if answer.Username == "<token>" {
		auth = registry.AuthConfig{IdentityToken: answer.Secret, ServerAddress: server}
	}
	return auth, nil
}
