package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
)

// IsPodman reports whether an engine is a Podman.
func IsPodman(version client.ServerVersionResult) bool {
	return slices.ContainsFunc(version.Components, func(c system.ComponentVersion) bool { return c.Name == "Podman Engine" })
}

// maxInfo limits the description of an engine, in bytes.
const maxInfo = 1 << 20

// Rootless reports whether an engine runs without the rights of root. Docker says it
// among its security options, Podman in a field that is not in Docker's API.
func Rootless(ctx context.Context, cli *client.Client) (bool, error) {
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return cli.Dialer()(ctx) },
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine/info", nil)
	if err != nil {
		return false, err
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return false, Error("cannot identify the engine", err)
	}
	defer response.Body.Close()
	var info struct {
		Rootless        bool
		SecurityOptions []string
	}
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("cannot identify the engine: %s", response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxInfo)).Decode(&info); err != nil {
		return false, fmt.Errorf("cannot identify the engine: %w", err)
	}
	return info.Rootless || slices.ContainsFunc(info.SecurityOptions, func(o string) bool {
		return strings.HasPrefix(o, "name=rootless")
	}), nil
}
