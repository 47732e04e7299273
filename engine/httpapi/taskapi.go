package httpapi

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/workload"
)

// connectionsPerTask limits the concurrent connections of a task to its socket.
const connectionsPerTask = 16

// caller is the task that sends a request.
type caller struct {
	claims workload.Claims
	group  string
	job    string // the ID of the allocation's job; claims name the parent
	key    string // of that job
	engine *engine.Engine
}

// taskListener closes its connections when it is closed.
type taskListener struct {
	*limitedListener

	mu     sync.Mutex
	ended  bool
	open   map[net.Conn]bool
	closed sync.WaitGroup // over open
}

type taskConn struct {
	net.Conn
	listener *taskListener
	once     sync.Once
}

// Accept implements net.Listener.
func (l *taskListener) Accept() (net.Conn, error) {
	conn, err := l.limitedListener.Accept()
	if err != nil {
		_ = l.Close() // also closes all connections, even if the server did not
		return nil, err
	}
	return l.keep(conn)
}

// keep remembers an open connection. It is no part of Accept, in which a goroutine
// waits for each task: its frame is small.
func (l *taskListener) keep(conn net.Conn) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	l.open[conn] = true
	l.closed.Add(1)
	return &taskConn{Conn: conn, listener: l}, nil
}

// Close implements net.Listener.
func (l *taskListener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for conn := range l.open {
		_ = conn.Close()
	}
	return l.Listener.Close()
}

// Close implements net.Conn.
func (c *taskConn) Close() error {
	c.once.Do(func() {
		c.listener.mu.Lock()
		delete(c.listener.open, c.Conn)
		c.listener.mu.Unlock()
		c.listener.closed.Done()
	})
	return c.Conn.Close()
}

type taskKey struct{}

// callerOf returns the task whose token a request at a task's socket carries,
// or nil for a request of the user.
func callerOf(r *http.Request, keys *workload.Keyring, e *engine.Engine) (*caller, error) {
	if r.Context().Value(taskKey{}) == nil {
		return nil, nil
	}
	token := sentToken(r)
	if token == "" {
		return nil, rest.Fail(http.StatusUnauthorized, "Unauthorized")
	}
	claims, err := keys.Verify(token, time.Now())
	if err != nil {
		return nil, rest.Fail(http.StatusForbidden, "Forbidden")
	}
	a, ok := e.Alloc(claims.Allocation)
	if !ok || a.Status == api.AllocClientStatusComplete || a.Status == api.AllocClientStatusFailed {
		return nil, rest.Fail(http.StatusForbidden, "Forbidden")
	}
	return &caller{claims: claims, group: a.Group, job: *a.Job.ID, key: a.Alloc.Job, engine: e}, nil
}

// callerRights are the rights of a task: those of Nomad's default policy for
// workloads, and to read its own job. Everything else is denied.
var callerRights = map[string]func(*caller, *rest.Request) bool{
	"/v1/services":  (*caller).inNamespace,
	"/v1/service/*": (*caller).inNamespace,

	"/v1/vars": anything, // the list omits unreadable ones
	"/v1/var/*": func(c *caller, r *rest.Request) bool {
		return c.mayRead(cmp.Or(r.Query.Get("namespace"), api.DefaultNamespace), r.ID)
	},

	"/v1/job/*":             (*caller).ownsJob,
	"/v1/job/*/allocations": (*caller).ownsJob,
	"/v1/job/*/evaluations": (*caller).ownsJob,
	"/v1/job/*/deployments": (*caller).ownsJob,
	"/v1/job/*/deployment":  (*caller).ownsJob,
	"/v1/job/*/summary":     (*caller).ownsJob,
	"/v1/job/*/versions":    (*caller).ownsJob,
	"/v1/job/*/scale":       (*caller).ownsJob,
	"/v1/job/*/submission":  (*caller).ownsJob,
	"/v1/job/*/services":    (*caller).ownsJob,
	"/v1/job/*/actions":     (*caller).ownsJob,

	"/v1/allocation/*":               (*caller).ownsAlloc,
	"/v1/allocation/*/services":      (*caller).ownsAlloc,
	"/v1/client/allocation/*/checks": (*caller).ownsAlloc,
	"/v1/client/allocation/*/stats":  (*caller).ownsAlloc,
}

// may reports whether a task may send a request.
func (c *caller) may(route string, r *rest.Request) bool {
	allowed := callerRights[route]
	return r.Method == http.MethodGet && allowed != nil && allowed(c, r)
}

func anything(*caller, *rest.Request) bool { return true }

// mayRead reports whether a task may read a variable.
func (c *caller) mayRead(namespace, path string) bool {
	job := "nomad/jobs/" + c.claims.Job
	group := job + "/" + c.group
	own := []string{"nomad/jobs", job, group, group + "/" + c.claims.Task}
	return namespace == c.claims.Namespace && slices.Contains(own, path)
}

// inNamespace reports whether a request is about the task's namespace only, if
// the engine keeps namespaces apart.
func (c *caller) inNamespace(r *rest.Request) bool {
	return !r.Apart || r.Namespace() == c.claims.Namespace
}

func (c *caller) ownsJob(r *rest.Request) bool {
	return (r.ID == c.job || r.ID == c.claims.Job) && r.InNamespace(c.claims.Namespace)
}

func (c *caller) ownsAlloc(r *rest.Request) bool {
	a, ok := c.engine.Alloc(r.ID)
	return ok && a.Alloc.Job == c.key
}
