package docker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
)

// hubAddress is the name under which credentials of Docker Hub are kept.
const hubAddress = "https://index.docker.io/v1/"

// configFile is the part of the docker command's config.json that matters; see
// https://docs.docker.com/reference/cli/docker/#configuration-files.
type configFile struct {
	Auths          map[string]fileAuth
	CredsStore     string            // helper for all registries
	CredHelpers    map[string]string // helper by registry
	CurrentContext string
}

type fileAuth struct {
	Auth          string // base64 of name:password
	Username      string
	Password      string
	IdentityToken string
}

// readConfigFile reads a config.json; one that does not exist is empty.
func readConfigFile(name string) (*configFile, error) {
	config := &configFile{}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return config, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, config); err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", name, err)
	}
	return config, nil
}

// authFor returns the credentials for the registry of a task's image, encoded
// as the engine takes them; "" when there are none. Those of the task come
// first, then those that the options of the driver name, or else those of the
// docker command: its helpers, then its file.
func (o *options) authFor(ctx context.Context, c *taskConfig) (string, error) {
	var auth registry.AuthConfig
	if a := c.Auth; a != nil && a.Username != "" {
		auth = registry.AuthConfig{Username: a.Username, Password: a.Password, ServerAddress: a.ServerAddress}
	} else {
		found, err := o.findAuth(ctx, c.Image)
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
func (o *options) findAuth(ctx context.Context, image string) (registry.AuthConfig, error) {
	config, err := o.authConfig()
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
	helper := config.CredHelpers[server]
	if helper == "" {
		helper = config.CredsStore
	}
	if helper != "" {
		auth, err := askHelper(ctx, helper, server)
		if err != nil || auth != (registry.AuthConfig{}) {
			return auth, err
		}
	}
	for name, entry := range config.Auths {
		if name == server || hostOf(name) == server {
			return entry.decode(server)
		}
	}
	return registry.AuthConfig{}, nil
}

// authConfig says where credentials are.
func (o *options) authConfig() (*configFile, error) {
	if o.Auth == nil || *o.Auth == (authOptions{}) {
		return readConfigFile(filepath.Join(configDir(os.Getenv), "config.json"))
	}
	config := &configFile{}
	if o.Auth.Config != "" {
		_, err := os.Stat(o.Auth.Config)
		if err == nil {
			config, err = readConfigFile(o.Auth.Config)
		}
		if err != nil {
			return nil, err
		}
	}
	if o.Auth.Helper != "" {
		config.CredsStore = o.Auth.Helper
	}
	return config, nil
}

// hostOf returns the host of a registry that may be written as a URL.
func hostOf(name string) string {
	_, rest, ok := strings.Cut(name, "://")
	if !ok {
		rest = name
	}
	host, _, _ := strings.Cut(rest, "/")
	return host
}

func (a fileAuth) decode(server string) (registry.AuthConfig, error) {
	auth := registry.AuthConfig{
		Username: a.Username, Password: a.Password, IdentityToken: a.IdentityToken, ServerAddress: server,
	}
	if a.Auth == "" {
		return auth, nil
	}
	text, err := base64.StdEncoding.DecodeString(a.Auth)
	name, password, ok := strings.Cut(strings.TrimRight(string(text), "\x00"), ":")
	if err != nil || !ok {
		return auth, fmt.Errorf("the docker command's config.json has unreadable credentials for %q", server)
	}
	auth.Username, auth.Password = name, password
	return auth, nil
}

// askHelper asks a credential helper; see
// https://github.com/docker/docker-credential-helpers. No credentials are no
// error.
func askHelper(ctx context.Context, helper, server string) (registry.AuthConfig, error) {
	cmd := exec.CommandContext(ctx, "docker-credential-"+helper, "get")
	cmd.Stdin = strings.NewReader(server)
	cmd.WaitDelay = time.Second // for what it has left behind
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stderr.String())
		if !bytes.Contains(stdout.Bytes(), []byte("{")) { // credentials are nobody else's business
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
