package httpapi

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"taskrun/engine/httpapi/rest"
)

// route is a served path. A star stands for an ID, which may contain slashes. As
// in Nomad, PUT and POST mean the same.
type route struct {
	method, path string
	handler      rest.Handler
}

// find returns the route of a path and the ID in the path. As in Nomad the first
// pattern that fits is that of all methods: the path of a job's allocations is
// not the ID of a job to be stopped.
func find(routes []route, method, path string) (found *route, id string, err error) {
	pattern := ""
	for i := range routes {
		r := &routes[i]
		id, ok := match(r.path, path)
		if !ok || pattern != "" && r.path != pattern {
			continue
		}
		if r.method == method || r.method == http.MethodPut && method == http.MethodPost {
			return r, id, nil
		}
		pattern = r.path
	}
	if pattern == "" {
		return nil, "", rest.ErrNotFound
	}
	return nil, "", rest.Fail(http.StatusMethodNotAllowed, "Invalid method")
}

// cleaned returns where Nomad's server redirects a request whose path has empty
// or dotted elements, or "".
func cleaned(u *url.URL) string {
	was := u.EscapedPath()
	if !strings.HasPrefix(was, "/") {
		return ""
	}
	is := path.Clean(was)
	if strings.HasSuffix(was, "/") && is != "/" {
		is += "/"
	}
	if is == was {
		return ""
	}
	if u.RawQuery != "" {
		is += "?" + u.RawQuery
	}
	return is
}

// match returns the part of a path that matches the pattern's star, if there is
// one.
func match(pattern, path string) (id string, ok bool) {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return "", path == pattern
	}
	rest, ok := strings.CutPrefix(path, before)
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(rest, after)
	return id, ok && id != ""
}
