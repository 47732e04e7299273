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

// Registry is a registry on this machine with one image.
type Registry struct {
	Image string // its name
	// Demand, when set, is the user and password that everybody must show.
	Demand string
	Pulls  atomic.Int64 // of the image's one layer
}

// NewRegistry starts a registry, which is gone with the test; so is the image
// that the engine may have taken from it. See
// https://distribution.github.io/distribution/spec/api/.
func NewRegistry(t testing.TB) *Registry {
	t.Helper()
	cli := Need(t)
	layer, err := busyboxLayer(t.Context(), rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	tar, err := io.ReadAll(layer)
	if err != nil {
		t.Fatal(err)
	}
	marshal := func(v any) []byte {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	type object = map[string]any
	config := marshal(object{
		"architecture": runtime.GOARCH, "os": "linux", "config": object{"Env": []string{"PATH=/bin"}, "Cmd": []string{"/bin/sh"}},
		"rootfs": object{"type": "layers", "diff_ids": []string{digest(tar)}},
	})
	const docker = "application/vnd.docker."
	manifest := marshal(object{
		"schemaVersion": 2, "mediaType": docker + "distribution.manifest.v2+json",
		"config": object{"mediaType": docker + "container.image.v1+json", "size": len(config), "digest": digest(config)},
		"layers": []object{{"mediaType": docker + "image.rootfs.diff.tar", "size": len(tar), "digest": digest(tar)}},
	})
	r := &Registry{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if user, password, _ := req.BasicAuth(); r.Demand != "" && user+":"+password != r.Demand {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		part := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]
		switch {
		case req.URL.Path == "/v2/":
		case strings.Contains(req.URL.Path, "/manifests/") && (part == "1" || part == "latest" || part == digest(manifest)):
			w.Header().Set("Content-Type", docker+"distribution.manifest.v2+json")
			w.Header().Set("Docker-Content-Digest", digest(manifest))
			_, _ = w.Write(manifest)
		case part == digest(config):
			_, _ = w.Write(config)
		case part == digest(tar):
			r.Pulls.Add(1)
			_, _ = w.Write(tar)
		default:
			http.NotFound(w, req)
		}
	}))
	t.Cleanup(server.Close)
	r.Image = strings.TrimPrefix(server.URL, "http://") + "/shop/web"
	t.Cleanup(func() { RemoveImage(cli, r.Image) })
	return r
}

// RemoveImage removes an image, with all its tags, if the engine has it.
func RemoveImage(cli *client.Client, name string) {
	for _, tag := range []string{":1", ":latest"} {
		_, _ = cli.ImageRemove(context.Background(), name+tag, client.ImageRemoveOptions{Force: true})
	}
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }
