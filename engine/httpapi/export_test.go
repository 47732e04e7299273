package httpapi

import (
	"net"

	"taskrun/engine"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/tracker"
)

// Die closes a listener like the death of its process: the socket stays.
func Die(l net.Listener) { _ = l.(*ownListener).Listener.Close() }

// ReadPaths returns the paths of all GET routes; a star stands for an ID.
func ReadPaths() (paths []string) {
	for _, r := range routes(&render.Run{Engine: engine.New(engine.Config{}), Tracker: &tracker.Tracker{}}, &Config{}, nil) {
		if r.method == "GET" {
			paths = append(paths, r.path)
		}
	}
	return paths
}

const ConnectionsPerTask = connectionsPerTask
