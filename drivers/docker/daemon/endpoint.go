// Package daemon connects to a Docker engine: its address, the meaning of its
// errors, and its containers that belong to taskrun.
package daemon

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/go-connections/tlsconfig"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"
)

// ReplyTime is how long an engine may take to answer a simple request. On a busy
// machine 15 s were not enough for Podman; Nomad waits for five minutes.
const ReplyTime = time.Minute

// Endpoint is the address of an engine, and how to talk to it.
type Endpoint struct {
	Host   string `json:"host"`
	TLS    *TLS   `json:"tls,omitempty"`    // nil for an engine without TLS
	Verify bool   `json:"verify,omitempty"` // the engine's own certificate
	API    string `json:"api,omitempty"`    // version; empty: negotiated
}

// TLS are paths of files.
type TLS struct {
	Cert string `cty:"cert" json:"cert,omitempty"`
	Key  string `cty:"key" json:"key,omitempty"`
	CA   string `cty:"ca" json:"ca,omitempty"`
}

// Find returns the engine at host. If host is empty, it looks where the docker
// command does; without tls it takes the certificates of the docker command.
func Find(host string, tls *TLS, env func(string) string) Endpoint {
	if host = cmp.Or(host, env(client.EnvOverrideHost)); host == "" {
		host = cmp.Or(contextHost(env), client.DefaultDockerHost)
	}
	e := Endpoint{Host: host, TLS: tls, Verify: true, API: env(client.EnvOverrideAPIVersion)}
	if dir := env(client.EnvOverrideCertPath); tls == nil && dir != "" {
		e.TLS = &TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "ca.pem")}
		e.Verify = env(client.EnvTLSVerify) != ""
	}
	return e
}

// Client returns a client of the engine. It sends nothing yet.
func (e Endpoint) Client() (*client.Client, error) {
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

// contextHost returns the address in the current context of the docker command, or
// ""; see https://docs.docker.com/engine/manage-resources/contexts/.
func contextHost(env func(string) string) string {
	dir := ConfigDir(env)
	name := env("DOCKER_CONTEXT")
	if name == "" {
		config, err := ReadConfig(filepath.Join(dir, "config.json"))
		if err != nil {
			return ""
		}
		name = config.CurrentContext
	}
	if name == "" || name == "default" {
		return ""
	}
	sum := sha256.Sum256([]byte(name))
	text, err := os.ReadFile(filepath.Join(dir, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json"))
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err != nil || json.Unmarshal(text, &meta) != nil {
		return ""
	}
	return meta.Endpoints["docker"].Host
}

// ConfigDir returns the directory where the docker command keeps its
// configuration.
func ConfigDir(env func(string) string) string {
	return cmp.Or(env("DOCKER_CONFIG"), filepath.Join(env("HOME"), ".docker"))
}

// Config is the part of the docker command's config.json that matters here; see
// https://docs.docker.com/reference/cli/docker/#configuration-files.
type Config struct {
	Auths          map[string]registry.AuthConfig
	CredsStore     string            // helper for all registries
	CredHelpers    map[string]string // helper by registry
	CurrentContext string
}

// ReadConfig reads a config.json. A missing file is empty.
func ReadConfig(name string) (*Config, error) {
	config := &Config{}
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
