package dockertest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/moby/moby/client"
)

// Registry is a registry on this machine with one image, which has the tags 1
// and latest; see https://distribution.github.io/distribution/spec/api/.
type Registry struct {
	Image string       // its name without a tag
	Pulls atomic.Int64 // of the image's one layer
	Layer []byte

	manifest, config []byte
	server           *httptest.Server
	login            atomic.Pointer[string] // see Demand
	held             atomic.Pointer[chan struct{}]
}

// NewRegistry starts a registry for a test. Its end removes the image from the
// engine.
func NewRegistry(t testing.TB) *Registry {
	t.Helper()
	Need(t)
	r, err := StartRegistry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// StartRegistry starts a registry. The caller must close it.
func StartRegistry(ctx context.Context) (*Registry, error) {
	layer, err := busyboxLayer(ctx, rand.Text())
	if err != nil {
		return nil, err
	}
	r := &Registry{}
	if r.Layer, err = io.ReadAll(layer); err != nil {
		return nil, err
	}
	type object = map[string]any
	r.config, err = json.Marshal(object{
		"architecture": runtime.GOARCH, "os": "linux", "config": object{"Env": []string{"PATH=/bin"}, "Cmd": []string{"/bin/sh"}},
		"rootfs": object{"type": "layers", "diff_ids": []string{digest(r.Layer)}},
	})
	if err != nil {
		return nil, err
	}
	r.manifest, err = json.Marshal(object{
		"schemaVersion": 2, "mediaType": mediaType + "distribution.manifest.v2+json",
		"config": object{"mediaType": mediaType + "container.image.v1+json", "size": len(r.config), "digest": digest(r.config)},
		"layers": []object{{"mediaType": mediaType + "image.rootfs.diff.tar", "size": len(r.Layer), "digest": digest(r.Layer)}},
	})
	if err != nil {
		return nil, err
	}
	r.server = httptest.NewServer(r)
	r.Image = r.Address() + "/shop/web"
	return r, nil
}

// Address is its host and port.
func (r *Registry) Address() string { return strings.TrimPrefix(r.server.URL, "http://") }

const mediaType = "application/vnd.docker."

// ServeHTTP serves the manifest, the config and the layer.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	user, password, _ := req.BasicAuth()
	if login := r.login.Load(); login != nil && user+":"+password != *login {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	part := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]
	switch {
	case req.URL.Path == "/v2/":
	case strings.Contains(req.URL.Path, "/manifests/") && (part == "1" || part == "latest" || part == digest(r.manifest)):
		w.Header().Set("Content-Type", mediaType+"distribution.manifest.v2+json")
		w.Header().Set("Docker-Content-Digest", digest(r.manifest))
		_, _ = w.Write(r.manifest)
	case part == digest(r.config):
		_, _ = w.Write(r.config)
	case part == digest(r.Layer):
		r.Pulls.Add(1)
		r.serveLayer(w, req)
	default:
		http.NotFound(w, req)
	}
}

func (r *Registry) serveLayer(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(len(r.Layer)))
	half := len(r.Layer) / 2
	_, _ = w.Write(r.Layer[:half])
	if held := r.held.Load(); held != nil {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-*held:
		case <-req.Context().Done():
			return
		}
	}
	_, _ = w.Write(r.Layer[half:])
}

// Demand requires a user and password, "USER:PASSWORD".
func (r *Registry) Demand(login string) { r.login.Store(&login) }

// Hold stops downloads of the layer halfway, until release is called.
func (r *Registry) Hold() (release func()) {
	held := make(chan struct{})
	r.held.Store(&held)
	return func() {
		if r.held.Swap(nil) != nil {
			close(held)
		}
	}
}

// Close ends the registry and removes its image from the engine.
func (r *Registry) Close() {
	r.server.CloseClientConnections()
	r.server.Close()
	if cli, err := Engine(); err == nil {
		RemoveImage(cli, r.Image)
	}
}

// RemoveImage removes an image, with all its tags, if the engine has it.
func RemoveImage(cli *client.Client, name string) {
	for _, tag := range []string{":1", ":latest"} {
		_, _ = cli.ImageRemove(context.Background(), name+tag, client.ImageRemoveOptions{Force: true})
	}
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }
