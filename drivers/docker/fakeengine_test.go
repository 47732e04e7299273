package docker

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/moby/moby/api/types/container"
	engineevents "github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/network"

	"taskrun/drivers"
)

// fakeEngine responds like an engine, so that the driver can be tested without
// one, and with errors that a real one rarely has. Its containers are processes
// of this machine; it has no images, mounts, networks or terminals.
type fakeEngine struct {
	server *httptest.Server
	mux    *http.ServeMux

	mu         sync.Mutex
	change     chan struct{} // closed and replaced with every change of the following fields
	images     map[string]bool
	imported   []byte // the archive of the latest image that was made here
	networks   map[string]network.Inspect
	containers map[string]*fakeContainer
	execs      map[string]*fakeExec
	died       []string // execs
	ids        int
	asked      []string // "METHOD /path?query" of all requests
	rules      []rule
	away       bool
	closed     bool
	arch       string
	root       string          // directory of the containers that hold networks; empty: their program does not run
	pull       []string        // messages of a pull
	hold       <-chan struct{} // a pull sends nothing before it is closed
	stats      string
	refused    int // starts in a network that has ended
	together   int // how many of them get their answers at once
}

// A rule changes a response of the engine.
type rule struct {
	request *regexp.Regexp
	times   int
	status  int
	text    string
}

// silence is the status of a rule for a request that gets no response.
const silence = -1

type fakeContainer struct {
	container.InspectResponse
	cmd  *exec.Cmd
	logs []fakeLine
}

type fakeLine struct {
	at     time.Time
	stream byte
	text   string
}

type fakeExec struct {
	container string
	config    struct {
		User     string
		Cmd, Env []string
		Tty      bool
	}
	cmd      *exec.Cmd
	terminal *os.File // our end, nil for none
	asked    int      // how often its size was to change
	resized  time.Time
	running  bool
	code     int
}

func newFakeEngine(t *testing.T) *fakeEngine {
	t.Helper()
	e := &fakeEngine{
		mux: http.NewServeMux(), change: make(chan struct{}), images: map[string]bool{"image:1": true},
		containers: map[string]*fakeContainer{}, execs: map[string]*fakeExec{}, arch: "amd64",
	}
	for pattern, handle := range map[string]http.HandlerFunc{
		"/_ping":                       e.ping,
		"GET /version":                 e.version,
		"GET /images/":                 e.imageInspect,
		"POST /images/create":          e.imageCreate,
		"POST /images/load":            e.imageLoad,
		"POST /containers/create":      e.create,
		"GET /containers/json":         e.list,
		"GET /containers/{id}/json":    e.inspect,
		"POST /containers/{id}/start":  e.start,
		"POST /containers/{id}/kill":   e.kill,
		"POST /containers/{id}/wait":   e.wait,
		"POST /containers/{id}/attach": e.attach,
		"GET /containers/{id}/logs":    e.logs,
		"GET /containers/{id}/stats":   e.stat,
		"DELETE /containers/{id}":      e.remove,
		"POST /containers/{id}/exec":   e.execCreate,
		"POST /exec/{id}/start":        e.execStart,
		"GET /exec/{id}/json":          e.execInspect,
		"POST /exec/{id}/resize":       e.execResize,
		"GET /events":                  e.events,
	} {
		e.mux.HandleFunc(pattern, handle)
	}
	e.fakeNetworks()
	e.server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.close)
	return e
}

// driver returns a driver that uses the engine, until the test ends.
func (e *fakeEngine) driver(t *testing.T) *Driver {
	t.Helper()
	d := New(Config{Host: e.host(), Absence: time.Minute})
	t.Cleanup(func() { _, _ = d.Shutdown(context.Background()) })
	return d
}

func (e *fakeEngine) host() string { return "tcp://" + e.server.Listener.Addr().String() }

func (e *fakeEngine) close() {
	e.set(func() {
		e.closed = true
		for _, c := range e.containers {
			e.end(c)
		}
	})
	e.server.CloseClientConnections()
	e.server.Close()
}

// set changes the state and wakes all waiters.
func (e *fakeEngine) set(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
	close(e.change)
	e.change = make(chan struct{})
}

// until waits for the condition. It returns false if that takes too long.
func (e *fakeEngine) until(r *http.Request, holds func() bool) bool {
	for {
		e.mu.Lock()
		ok, closed, change := holds(), e.closed || e.away, e.change
		e.mu.Unlock()
		if ok || closed {
			return ok
		}
		select {
		case <-change:
		case <-r.Context().Done():
			return false
		}
	}
}

// answer makes the engine respond to a number of requests with a status and a
// message.
func (e *fakeEngine) answer(request string, times, status int, text string) {
	e.set(func() { e.rules = append(e.rules, rule{regexp.MustCompile("^" + request), times, status, text}) })
}

// goAway breaks all connections, and accepts no others until comeBack.
func (e *fakeEngine) goAway() {
	e.set(func() { e.away = true })
	e.server.CloseClientConnections()
}

func (e *fakeEngine) comeBack() { e.set(func() { e.away = false }) }

// requests returns the matching requests, without version.
func (e *fakeEngine) requests(pattern string) (found []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.asked {
		if regexp.MustCompile(pattern).MatchString(r) {
			found = append(found, r)
		}
	}
	return found
}

// only returns the only container.
func (e *fakeEngine) only(t *testing.T) *fakeContainer {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.containers) != 1 {
		t.Fatalf("there are %d containers", len(e.containers))
	}
	for _, c := range e.containers {
		return c
	}
	return nil
}

func (e *fakeEngine) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.containers)
}

var versionPath = regexp.MustCompile(`^/v[0-9.]+/`)

func (e *fakeEngine) serve(w http.ResponseWriter, r *http.Request) {
	r.URL.Path = versionPath.ReplaceAllString(r.URL.Path, "/")
	r.URL.RawPath = ""
	line := r.Method + " " + r.URL.Path
	if r.URL.RawQuery != "" {
		line += "?" + r.URL.RawQuery
	}
	var refused *rule
	e.mu.Lock()
	away := e.away
	if !away {
		e.asked = append(e.asked, line)
	}
	for i := range e.rules {
		if rule := &e.rules[i]; rule.times != 0 && rule.request.MatchString(line) {
			rule.times--
			refused = rule
			break
		}
	}
	e.mu.Unlock()
	switch {
	case away || refused != nil && refused.status == 0:
		panic(http.ErrAbortHandler) // breaks the connection
	case refused != nil && refused.status == silence:
		<-r.Context().Done()
	case refused != nil && refused.status >= 300:
		fail(w, refused.status, refused.text)
	case refused != nil:
		w.WriteHeader(refused.status)
		_, _ = io.WriteString(w, refused.text)
	default:
		e.mux.ServeHTTP(w, r)
	}
}

func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": text})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (e *fakeEngine) ping(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Api-Version", "1.51")
	w.Header().Set("Ostype", "linux")
}

func (e *fakeEngine) version(w http.ResponseWriter, _ *http.Request) {
	reply(w, 200, map[string]string{"Version": "28.0.0", "ApiVersion": "1.51", "Os": "linux", "Arch": e.arch})
}

func (e *fakeEngine) imageInspect(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/images/"), "/json")
	e.mu.Lock()
	ok := e.images[name]
	e.mu.Unlock()
	if !ok {
		fail(w, 404, "No such image: "+name)
		return
	}
	reply(w, 200, map[string]string{"Id": "sha256:" + name})
}

func (e *fakeEngine) imageCreate(w http.ResponseWriter, r *http.Request) {
	imported, _ := io.ReadAll(r.Body)
	q := r.URL.Query()
	if e.hold != nil {
		select {
		case <-e.hold:
		case <-r.Context().Done():
		}
	}
	for _, line := range e.pull {
		_, _ = io.WriteString(w, line+"\n")
	}
	name := cmp.Or(q.Get("fromImage"), q.Get("repo"))
	e.set(func() {
		e.images[strings.TrimPrefix(name, "docker.io/library/")+":"+q.Get("tag")], e.images[name] = true, true
		e.imported = imported
	})
}

func (e *fakeEngine) imageLoad(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	e.set(func() { e.images[string(text)] = true })
	reply(w, 200, map[string]string{"stream": "Loaded image"})
}

func (e *fakeEngine) create(w http.ResponseWriter, r *http.Request) {
	c := &fakeContainer{}
	var body struct {
		container.Config
		HostConfig *container.HostConfig
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		fail(w, 400, err.Error())
		return
	}
	name := "/" + r.URL.Query().Get("name")
	conflict := false
	e.set(func() {
		for _, other := range e.containers {
			conflict = conflict || other.Name == name
		}
		if conflict {
			return
		}
		e.ids++
		c.ID, c.Name = fmt.Sprintf("%064d", e.ids), name
		c.Config, c.HostConfig = &body.Config, body.HostConfig
		c.State = &container.State{Status: container.StateCreated}
		in := "bridge"
		if _, ok := e.networks[string(body.HostConfig.NetworkMode)]; ok {
			in = string(body.HostConfig.NetworkMode)
		}
		c.NetworkSettings = &container.NetworkSettings{Networks: map[string]*network.EndpointSettings{
			in: {IPAddress: netip.MustParseAddr("172.17.0.2"), Gateway: netip.MustParseAddr("172.17.0.1")},
		}}
		e.containers[c.ID] = c
	})
	if conflict {
		fail(w, 409, "the name "+name+" is in use")
		return
	}
	reply(w, 201, map[string]string{"Id": c.ID})
}

// with calls do for the container of a request, under the lock.
func (e *fakeEngine) with(w http.ResponseWriter, r *http.Request, do func(*fakeContainer)) *fakeContainer {
	id := r.PathValue("id")
	var found *fakeContainer
	e.set(func() {
		for _, c := range e.containers {
			if c.ID == id || c.Name == "/"+id {
				found = c
			}
		}
		if found != nil && do != nil {
			do(found)
		}
	})
	if found == nil {
		fail(w, 404, "No such container: "+id)
	}
	return found
}

func (e *fakeEngine) list(w http.ResponseWriter, r *http.Request) {
	var filters struct{ Label map[string]bool }
	_ = json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters)
	list := []container.Summary{}
	e.mu.Lock()
	for _, c := range e.containers {
		for label := range filters.Label {
			name, value, valued := strings.Cut(label, "=")
			if has, ok := c.Config.Labels[name]; ok && (!valued || has == value) {
				list = append(list, container.Summary{ID: c.ID, Names: []string{c.Name}, Labels: c.Config.Labels})
			}
		}
	}
	e.mu.Unlock()
	reply(w, 200, list)
}

func (e *fakeEngine) inspect(w http.ResponseWriter, r *http.Request) {
	var text []byte
	if e.with(w, r, func(c *fakeContainer) { text, _ = json.Marshal(c.InspectResponse) }) != nil {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}
}

func (e *fakeEngine) start(w http.ResponseWriter, r *http.Request) {
	var err error
	var running, alone bool
	c := e.with(w, r, func(c *fakeContainer) {
		running = c.State.Running
		if id, joins := strings.CutPrefix(string(c.HostConfig.NetworkMode), "container:"); joins {
			other := e.containers[id]
			alone = other != nil && !other.State.Running
		}
		if !running && !alone {
			err = e.run(c)
		}
	})
	switch {
	case c == nil:
	case running:
		w.WriteHeader(304)
	case alone:
		e.set(func() { e.refused++ })
		e.until(r, func() bool { return e.refused >= e.together })
		fail(w, 409, "cannot join network of a non running container")
	case err != nil:
		fail(w, 400, err.Error())
	default:
		w.WriteHeader(204)
	}
}

// run starts the process of a container. The caller must hold mu.
func (e *fakeEngine) run(c *fakeContainer) error {
	argv := slices.Concat(c.Config.Entrypoint, c.Config.Cmd)
	if len(argv) == 0 {
		argv = []string{"sleep", "1000"}
	}
	if argv[0] == "/pause" && e.root == "" {
		argv = []string{"sleep", "1000"}
	}
	c.cmd = exec.Command(argv[0], argv[1:]...)
	if argv[0] == "/pause" {
		if err := e.pause(c); err != nil {
			return err
		}
	}
	c.cmd.Env, c.cmd.SysProcAttr = c.Config.Env, &syscall.SysProcAttr{Setpgid: true}
	var streams []io.Reader
	for _, pipe := range []func() (io.ReadCloser, error){c.cmd.StdoutPipe, c.cmd.StderrPipe} {
		stream, err := pipe()
		if err != nil {
			return err
		}
		streams = append(streams, stream)
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	c.State = &container.State{Status: container.StateRunning, Running: true, Pid: c.cmd.Process.Pid, StartedAt: time.Now().Format(time.RFC3339Nano)}
	var reading sync.WaitGroup
	for i, stream := range streams {
		reading.Go(func() {
			b := make([]byte, 4096)
			for {
				n, err := stream.Read(b)
				if n > 0 {
					text := string(b[:n])
					e.set(func() { c.logs = append(c.logs, fakeLine{time.Now(), byte(i + 1), text}) })
				}
				if err != nil {
					return
				}
			}
		})
	}
	go func() {
		ended, _ := c.cmd.Process.Wait()
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // all other processes in the container
		reading.Wait()
		_ = c.cmd.Wait() // closes the pipes
		e.set(func() {
			state := *c.State
			state.Status, state.Running, state.FinishedAt = container.StateExited, false, time.Now().Format(time.RFC3339Nano)
			state.ExitCode = exitCode(ended)
			c.State = &state
		})
	}()
	return nil
}

func exitCode(state *os.ProcessState) int {
	if s := state.Sys().(syscall.WaitStatus); s.Signaled() {
		return 128 + int(s.Signal())
	}
	return state.ExitCode()
}

// end kills all processes in a container. The caller must hold mu.
func (e *fakeEngine) end(c *fakeContainer) {
	if c.State.Running {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	}
	for _, x := range e.execs {
		if x.container == c.ID && x.running {
			_ = syscall.Kill(-x.cmd.Process.Pid, syscall.SIGKILL)
		}
	}
}

func (e *fakeEngine) kill(w http.ResponseWriter, r *http.Request) {
	var ended bool
	c := e.with(w, r, func(c *fakeContainer) {
		ended = !c.State.Running
		sig, err := drivers.ParseSignal(r.URL.Query().Get("signal"))
		switch {
		case ended || err != nil:
		case sig == syscall.SIGKILL:
			e.end(c)
		default:
			_ = c.cmd.Process.Signal(sig)
		}
	})
	switch {
	case c == nil:
	case ended:
		fail(w, 409, "container is not running")
	default:
		w.WriteHeader(204)
	}
}

func (e *fakeEngine) wait(w http.ResponseWriter, r *http.Request) {
	condition := container.WaitCondition(r.URL.Query().Get("condition"))
	c := e.with(w, r, nil)
	if c == nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(200)
	w.(http.Flusher).Flush()
	var code int
	if e.until(r, func() bool {
		code = c.State.ExitCode
		switch condition {
		case container.WaitConditionRemoved:
			return e.containers[c.ID] == nil
		case container.WaitConditionNextExit:
			return c.State.Status == container.StateExited
		}
		return !c.State.Running
	}) {
		_ = json.NewEncoder(w).Encode(container.WaitResponse{StatusCode: int64(code)})
	}
}

func hijack(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter) {
	conn, buffer, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
	return conn, buffer
}

// frame writes text like the engine: raw for a terminal, otherwise in frames.
func frame(w io.Writer, tty bool, stream byte, text string) error {
	if !tty {
		header := [8]byte{stream}
		binary.BigEndian.PutUint32(header[4:], uint32(len(text)))
		text = string(header[:]) + text
	}
	_, err := io.WriteString(w, text)
	return err
}

// follow writes the lines of a container, starting with one, until it has
// ended.
func (e *fakeEngine) follow(r *http.Request, c *fakeContainer, from int, write func(fakeLine) error) {
	for {
		var lines []fakeLine
		if !e.until(r, func() bool {
			lines = c.logs[min(from, len(c.logs)):]
			return len(lines) > 0 || c.State.Status == container.StateExited || e.containers[c.ID] == nil
		}) || len(lines) == 0 {
			return
		}
		for _, line := range lines {
			if write(line) != nil {
				return
			}
		}
		from += len(lines)
	}
}

func (e *fakeEngine) attach(w http.ResponseWriter, r *http.Request) {
	from := 0
	c := e.with(w, r, func(c *fakeContainer) { from = len(c.logs) })
	if c == nil {
		return
	}
	conn, _ := hijack(w)
	defer conn.Close()
	e.follow(r, c, from, func(l fakeLine) error { return frame(conn, c.Config.Tty, l.stream, l.text) })
}

func parseTime(text string) time.Time {
	seconds, nanos, _ := strings.Cut(text, ".")
	s, _ := strconv.ParseInt(seconds, 10, 64)
	n, _ := strconv.ParseInt(nanos, 10, 64)
	return time.Unix(s, n)
}

func (e *fakeEngine) logs(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var kept []fakeLine
	c := e.with(w, r, func(c *fakeContainer) { kept = slices.Clone(c.logs) })
	if c == nil {
		return
	}
	w.WriteHeader(200)
	w.(http.Flusher).Flush()
	write := func(l fakeLine) error {
		if since := q.Get("since"); since != "" && l.at.Before(parseTime(since)) {
			return nil
		}
		if until := q.Get("until"); until != "" && l.at.After(parseTime(until)) {
			return nil
		}
		if q.Get("timestamps") == "1" {
			l.text = l.at.Format(time.RFC3339Nano) + " " + l.text
		}
		defer w.(http.Flusher).Flush()
		return frame(w, c.Config.Tty, l.stream, l.text)
	}
	if q.Get("follow") == "1" {
		e.follow(r, c, 0, write)
		return
	}
	for _, l := range kept {
		_ = write(l)
	}
}

func (e *fakeEngine) stat(w http.ResponseWriter, r *http.Request) {
	if e.with(w, r, nil) != nil {
		_, _ = io.WriteString(w, cmp.Or(e.stats, `{"read":"`+time.Now().Format(time.RFC3339Nano)+`","pids_stats":{"current":1}}`))
	}
}

func (e *fakeEngine) remove(w http.ResponseWriter, r *http.Request) {
	if e.with(w, r, func(c *fakeContainer) {
		e.end(c)
		delete(e.containers, c.ID)
	}) != nil {
		w.WriteHeader(204)
	}
}

func (e *fakeEngine) execCreate(w http.ResponseWriter, r *http.Request) {
	x := &fakeExec{running: true}
	_ = json.NewDecoder(r.Body).Decode(&x.config)
	id := ""
	if e.with(w, r, func(c *fakeContainer) {
		e.ids++
		id, x.container = fmt.Sprint("exec", e.ids), c.ID
		x.cmd = exec.Command(x.config.Cmd[0], x.config.Cmd[1:]...)
		x.cmd.Env = slices.Concat(c.Config.Env, x.config.Env)
		x.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		e.execs[id] = x
	}) != nil {
		reply(w, 201, map[string]string{"Id": id})
	}
}

func (e *fakeEngine) execStart(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	id := r.PathValue("id")
	x := e.execs[id]
	e.mu.Unlock()
	_, _ = io.Copy(io.Discard, r.Body)
	stdin, outputs, err := x.start(e)
	if err != nil {
		e.set(func() { x.running, x.code = false, 127 })
		fail(w, 400, err.Error())
		return
	}
	conn, buffer := hijack(w)
	defer conn.Close()
	go func() {
		_, _ = io.Copy(stdin, buffer)
		if !x.config.Tty {
			stdin.Close()
		}
	}()
	var mu sync.Mutex
	var copying sync.WaitGroup
	for i, from := range outputs {
		copying.Go(func() {
			b := make([]byte, 4096)
			for {
				n, err := from.Read(b)
				mu.Lock()
				if n > 0 {
					_ = frame(conn, x.config.Tty, byte(i+1), string(b[:n]))
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	// The end of the command is reported before that of its output, which its
	// children may hold open.
	state, _ := x.cmd.Process.Wait()
	e.set(func() {
		x.running, x.code = false, exitCode(state)
		e.died = append(e.died, id)
	})
	copying.Wait()
	e.set(func() { x.terminal = nil })
	stdin.Close()
	_ = x.cmd.Wait() // closes the pipes
}

// start starts a command, in a terminal if requested.
func (x *fakeExec) start(e *fakeEngine) (stdin io.WriteCloser, outputs []io.Reader, err error) {
	if x.config.Tty {
		ptmx, tty, err := pty.Open()
		if err != nil {
			return nil, nil, err
		}
		defer tty.Close()
		x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = tty, tty, tty
		x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		e.set(func() { x.terminal = ptmx })
		return ptmx, []io.Reader{ptmx}, x.cmd.Start()
	}
	stdin, err = x.cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	for _, pipe := range []func() (io.ReadCloser, error){x.cmd.StdoutPipe, x.cmd.StderrPipe} {
		from, err := pipe()
		if err != nil {
			return nil, nil, err
		}
		outputs = append(outputs, from)
	}
	return stdin, outputs, x.cmd.Start()
}

func (e *fakeEngine) execResize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	rows, _ := strconv.Atoi(q.Get("h"))
	cols, _ := strconv.Atoi(q.Get("w"))
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.execs[r.PathValue("id")]
	x.asked++
	if x.terminal == nil || x.asked < 3 {
		fail(w, 409, "it does not run") // an engine may take a moment
		return
	}
	if time.Since(x.resized) < 50*time.Millisecond {
		return // as Podman does
	}
	x.resized = time.Now()
	_ = pty.Setsize(x.terminal, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)})
}

func (e *fakeEngine) execInspect(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.execs[r.PathValue("id")]
	if x == nil {
		fail(w, 404, "no such exec")
		return
	}
	pid := 0
	if x.running && x.cmd.Process != nil {
		pid = x.cmd.Process.Pid
	}
	reply(w, 200, map[string]any{"ID": r.PathValue("id"), "Running": x.running, "ExitCode": x.code, "Pid": pid, "ContainerID": x.container})
}

func (e *fakeEngine) events(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(200)
	w.(http.Flusher).Flush()
	e.mu.Lock()
	sent := len(e.died)
	e.mu.Unlock()
	for e.until(r, func() bool { return len(e.died) > sent }) {
		e.mu.Lock()
		id := e.died[sent]
		e.mu.Unlock()
		_ = json.NewEncoder(w).Encode(engineevents.Message{Type: "container", Action: engineevents.ActionExecDie, Actor: engineevents.Actor{Attributes: map[string]string{"execID": id}}})
		w.(http.Flusher).Flush()
		sent++
	}
}
