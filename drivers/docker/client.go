package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/go-connections/tlsconfig"
	"github.com/moby/moby/client"

	"taskrun/drivers"
)

// replyTime is how long an engine may take to answer what is simple.
const replyTime = 15 * time.Second

// engine is where an engine is, and how it is spoken to.
type engine struct {
	Host   string      `json:"host"`
	TLS    *tlsOptions `json:"tls,omitempty"`    // nil for an engine without TLS
	Verify bool        `json:"verify,omitempty"` // the engine's own certificate
	API    string      `json:"api,omitempty"`    // version; empty: negotiated
}

// findEngine returns the engine at host or, when that is empty, where the
// docker command would look for it. Without tls its certificates are those that
// the docker command would use.
func findEngine(host string, tls *tlsOptions, env func(string) string) engine {
	if host == "" {
		host = engineHost(env)
	}
	e := engine{Host: host, TLS: tls, Verify: true, API: env(client.EnvOverrideAPIVersion)}
	if dir := env(client.EnvOverrideCertPath); tls == nil && dir != "" {
		e.TLS = &tlsOptions{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "ca.pem")}
		e.Verify = env(client.EnvTLSVerify) != ""
	}
	return e
}

// client returns a client of the engine, which is not asked yet.
func (e engine) client() (*client.Client, error) {
	if strings.HasPrefix(e.Host, "ssh://") {
		return nil, fmt.Errorf("cannot use the Docker engine at %q: the volumes of a task must be on this machine", e.Host)
	}
	opts := []client.Opt{client.WithHost(e.Host), client.WithAPIVersion(e.API)}
	if e.TLS != nil {
		config, err := tlsconfig.Client(tlsconfig.Options{
			CAFile: e.TLS.CA, CertFile: e.TLS.Cert, KeyFile: e.TLS.Key, InsecureSkipVerify: !e.Verify,
		})
		if err != nil {
			return nil, fmt.Errorf("cannot use the certificates for the Docker engine at %q: %w", e.Host, err)
		}
		opts = append([]client.Opt{client.WithHTTPClient(&http.Client{Transport: &http.Transport{TLSClientConfig: config}})}, opts...)
	}
	cli, err := client.New(opts...)
	if err != nil {
		return nil, fmt.Errorf("cannot use the Docker engine at %q: %w", e.Host, err)
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

// unreachable reports whether there was no answer of the engine, or only a part
// of one.
func unreachable(err error) bool {
	_, broken := errors.AsType[*net.OpError](err)
	return broken || client.IsErrConnectionFailed(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
