package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"taskrun/drivers"
)

// replyTime is how long an engine may take to answer what is simple.
const replyTime = 15 * time.Second

// newClient returns a client of the engine at host; empty: where the docker
// command would look for it. The engine is not asked yet.
func newClient(host string) (*client.Client, error) {
	if host == "" {
		host = engineHost(os.Getenv)
	}
	if strings.HasPrefix(host, "ssh://") {
		return nil, fmt.Errorf("cannot use the Docker engine at %q: the volumes of a task must be on this machine", host)
	}
	cli, err := client.New(client.WithHost(host), client.WithTLSClientConfigFromEnv(), client.WithAPIVersionFromEnv())
	if err != nil {
		return nil, fmt.Errorf("cannot use the Docker engine at %q: %w", host, err)
	}
	return cli, nil
}

// engineHost finds the address of the engine as the docker command does; see
// https://docs.docker.com/engine/manage-resources/contexts/.
func engineHost(env func(string) string) string {
	if host := env("DOCKER_HOST"); host != "" {
		return host
	}
	if host, err := contextHost(env); err == nil && host != "" {
		return host
	}
	return client.DefaultDockerHost
}

// contextHost returns the address in the current context of the docker
// command, or "".
func contextHost(env func(string) string) (string, error) {
	dir := configDir(env)
	name := env("DOCKER_CONTEXT")
	if name == "" {
		config, err := readConfigFile(filepath.Join(dir, "config.json"))
		if err != nil {
			return "", err
		}
		name = config.CurrentContext
	}
	if name == "" || name == "default" {
		return "", nil
	}
	sum := sha256.Sum256([]byte(name))
	text, err := os.ReadFile(filepath.Join(dir, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json"))
	if err != nil {
		return "", err
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return "", err
	}
	return meta.Endpoints["docker"].Host, nil
}

// configDir is where the docker command keeps its configuration.
func configDir(env func(string) string) string {
	if dir := env("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	return filepath.Join(env("HOME"), ".docker")
}

// engineError says what an error of the engine means. Where the engine cannot
// be reached, a later try may do better.
func engineError(doing string, err error) error {
	wrapped := fmt.Errorf("%s: %w", doing, err)
	if unreachable(err) {
		return drivers.Recoverable(wrapped)
	}
	return wrapped
}

// unreachable reports whether there was no answer of the engine.
func unreachable(err error) bool {
	return client.IsErrConnectionFailed(err) || errors.Is(err, context.DeadlineExceeded)
}
