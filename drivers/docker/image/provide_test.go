package image

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
	"taskrun/drivers/eventer"
)

// engine answers requests, "METHOD /path", with one body after the other; the
// last one stays. A body that begins with 404 or 418 is an error with that status.
type engine struct {
	*client.Client

	mu      sync.Mutex
	answers map[string][]string
	asked   []string
	posted  []byte // the last body
	auth    string // the last credentials
	hanging func() // called during an answer that does not end; may be nil
}

func newEngine(t *testing.T, answers map[string][]string) *engine {
	t.Helper()
	e := &engine{answers: answers}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	var err error
	if e.Client, err = (daemon.Endpoint{Host: "tcp://" + server.Listener.Addr().String(), API: "1.51"}).Client(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	request := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v1.51")
	if platform := r.URL.Query().Get("platform"); platform != "" {
		request += " for " + platform
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked, e.posted, e.auth = append(e.asked, request), body, r.Header.Get("X-Registry-Auth")
	a := "418 unexpected: " + request
	if left := e.answers[request]; len(left) > 0 {
		a = left[0]
		e.answers[request] = left[min(1, len(left)-1):]
	}
	w.Header().Set("Content-Type", "application/json")
	switch status, why, _ := strings.Cut(a, " "); {
	case a == hangs:
		_ = http.NewResponseController(w).Flush()
		if e.hanging != nil {
			e.hanging()
		}
		<-r.Context().Done()
	case status == "404":
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"message":"`+why+`"}`)
	case status == "418":
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, `{"message":"`+why+`"}`)
	default:
		_, _ = io.WriteString(w, a)
	}
}

const (
	hangs   = "hangs" // an answer that does not end
	here    = `{"Id":"sha256:1"}`
	missing = "404 no such image"
	broken  = "418 broken"
)

// newStore returns a store that has no credentials, and the messages of its
// events so far.
func newStore(t *testing.T) (s *Store, messages func() []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := settings.Defaults()
	o.Auth = &settings.AuthOptions{Config: file}
	s = &Store{Options: &o, Events: &eventer.Eventer{}}
	events, err := s.Events.TaskEvents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, func() (list []string) {
		for len(events) > 0 {
			list = append(list, (<-events).Message)
		}
		return list
	}
}

// An image that is here is used; otherwise it comes from an archive or a
// registry.
func TestProvide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "task", "local"), 0o755); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "task", "local", "web.tar")
	if err := os.WriteFile(archive, []byte("layers"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "task", "local", "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	const (
		find   = "GET /images/web:1/json"
		latest = "GET /images/web/json"
		create = "POST /images/create"
		load   = "POST /images/load"
		digest = "web@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
		loaded = `{"stream":"Loaded image: web:2\n"}`
	)
	for name, c := range map[string]struct {
		image     string // "web:1" if empty
		set       func(*settings.Config)
		answers   map[string][]string
		asked     []string
		events    []string
		becomes   string // another image
		fails     string
		recovers  bool
		withLogin bool
	}{
		"here":     {answers: map[string][]string{find: {here}}, asked: []string{find}},
		"not here": {answers: map[string][]string{find: {missing}, create: {`{"status":"Waiting","id":"a"}`}}, asked: []string{find, create}, events: []string{"Downloading image"}},
		"latest": {
			image: "web", answers: map[string][]string{latest: {here}, create: {"{}"}},
			asked: []string{latest, create}, events: []string{"Downloading image"},
		},
		"latest, preferred here": {image: "web", set: func(c *settings.Config) { c.PreferLocal = true }, answers: map[string][]string{latest: {here}}, asked: []string{latest}},
		"latest without its registry": {
			image: "web", answers: map[string][]string{latest: {here}, create: {broken}}, asked: []string{latest, create},
			events: []string{"Downloading image", "Using the image web that is here: Failed to pull `web`: Error response from daemon: broken"},
		},
		"digest": {image: digest, answers: map[string][]string{"GET /images/" + digest + "/json": {here}}, asked: []string{"GET /images/" + digest + "/json"}},
		"force_pull": {
			set: func(c *settings.Config) { c.ForcePull = true }, answers: map[string][]string{create: {"{}"}},
			asked: []string{create}, events: []string{"Downloading image"},
		},
		"force_pull fails": {
			set: func(c *settings.Config) { c.ForcePull = true }, answers: map[string][]string{create: {broken}}, asked: []string{create},
			events: []string{"Downloading image"}, fails: "Failed to pull `web:1`: Error response from daemon: broken", recovers: true,
		},
		"of a platform": {
			set:     func(c *settings.Config) { c.Platform = "linux/arm64" },
			answers: map[string][]string{create + " for linux/arm64": {"{}"}}, asked: []string{create + " for linux/arm64"}, events: []string{"Downloading image"},
		},
		"another name": {
			set:     func(c *settings.Config) { c.LocalNames = []string{"localhost/web:1"} },
			answers: map[string][]string{find: {missing}, "GET /images/localhost/web:1/json": {here}},
			asked:   []string{find, "GET /images/localhost/web:1/json"}, becomes: "localhost/web:1",
		},
		"a broken engine": {answers: map[string][]string{find: {broken}}, asked: []string{find}, fails: `cannot look for image "web:1": Error response from daemon: broken`},
		"not an image":    {image: "Not An Image", fails: `image "Not An Image" is not an image: invalid reference format`},
		"refused on the way": {
			answers: map[string][]string{find: {missing}, create: {`{"error":"no space","errorDetail":{"message":"no space"}}`}},
			asked:   []string{find, create}, events: []string{"Downloading image"}, fails: "Failed to pull `web:1`: no space", recovers: true,
		},
		"broken on the way": {
			answers: map[string][]string{find: {missing}, create: {`{"status":`}},
			asked:   []string{find, create}, events: []string{"Downloading image"}, fails: "Failed to pull `web:1`: unexpected EOF", recovers: true,
		},
		"login": {
			set:     func(c *settings.Config) { c.Auth = &settings.Auth{Username: "u", Password: "p"} },
			answers: map[string][]string{find: {missing}, create: {"{}"}}, asked: []string{find, create}, events: []string{"Downloading image"}, withLogin: true,
		},
		"archive": {
			set:     func(c *settings.Config) { c.Load = "web.tar" },
			answers: map[string][]string{find: {missing, here}, load: {loaded}}, asked: []string{find, load, find},
		},
		"archive without its image": {
			set:     func(c *settings.Config) { c.Load = "/web.tar" },
			answers: map[string][]string{find: {missing}, load: {loaded}}, asked: []string{find, load, find}, fails: `image "web:1" is not in "/web.tar": Error response from daemon: no such image`,
		},
		"archive with a name": {
			set:     func(c *settings.Config) { c.Image, c.Archive = "", archive },
			answers: map[string][]string{load: {loaded}, "GET /images/web:2/json": {here}}, asked: []string{load, "GET /images/web:2/json"}, becomes: "web:2",
		},
		"archive that is refused": {
			set:     func(c *settings.Config) { c.Load = "web.tar" },
			answers: map[string][]string{find: {missing}, load: {broken}}, asked: []string{find, load},
			fails: `cannot load image "web:1" from "web.tar": Error response from daemon: broken`,
		},
		"archive that is broken": {
			set:     func(c *settings.Config) { c.Load = "web.tar" },
			answers: map[string][]string{find: {missing}, load: {`{"error":"no layers","errorDetail":{"message":"no layers"}}`}}, asked: []string{find, load},
			fails: `cannot load image "web:1" from "web.tar": no layers`,
		},
		"no archive": {
			set:     func(c *settings.Config) { c.Load = "none" },
			answers: map[string][]string{find: {missing}}, asked: []string{find}, fails: `cannot load image "web:1": openat local/none: no such file or directory`,
		},
		"no regular archive": {
			set:     func(c *settings.Config) { c.Load = "fifo" },
			answers: map[string][]string{find: {missing}}, asked: []string{find}, fails: `cannot load image "web:1": "fifo" is not a regular file`,
		},
		"archive elsewhere": {
			set:     func(c *settings.Config) { c.Load = "../../../etc/passwd" },
			answers: map[string][]string{find: {missing}}, asked: []string{find}, fails: "path escapes from parent",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, c.answers)
			s, messages := newStore(t)
			config := &settings.Config{Common: settings.Common{Image: "web:1", ImagePullTimeout: time.Minute}}
			if c.image != "" {
				config.Image = c.image
			}
			want := config.Image
			if c.set != nil {
				c.set(config)
			}
			if c.becomes != "" {
				want = c.becomes
			}
			err := s.Provide(t.Context(), e.Client, &drivers.TaskConfig{Name: "task", AllocDir: dir}, config)
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) || drivers.IsRecoverable(err) != c.recovers {
				t.Errorf("the error is %v, recoverable: %v", err, drivers.IsRecoverable(err))
			}
			if config.Image != want {
				t.Errorf("the image is %q", config.Image)
			}
			if diff := cmp.Diff(c.asked, e.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.events, messages()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if (e.auth != "") != c.withLogin {
				t.Errorf("the credentials are %q", e.auth)
			}
			if unlock, err := s.lock(t.Context(), want); err != nil { // the next task may fetch it
				t.Error(err)
			} else {
				unlock()
			}
		})
	}
}

func TestPullWithoutCredentials(t *testing.T) {
	t.Parallel()
	e := newEngine(t, map[string][]string{"GET /images/web:1/json": {missing}})
	s, _ := newStore(t)
	s.Options.Auth = &settings.AuthOptions{Config: "/not/there"}
	err := s.Provide(t.Context(), e.Client, &drivers.TaskConfig{}, &settings.Config{Common: settings.Common{Image: "web:1", ImagePullTimeout: time.Minute}})
	const want = "Failed to find docker auth for repo \"web:1\": stat /not/there: no such file or directory"
	if err == nil || err.Error() != want || !drivers.IsRecoverable(err) {
		t.Errorf("the error is %v", err)
	}
}

// A pull without progress is given up, with the reason.
func TestPullGivesUp(t *testing.T) {
	t.Parallel()
	const soon = 20 * time.Millisecond
	for name, c := range map[string]struct {
		timeout, stalls time.Duration
		want            string
	}{
		"timeout": {soon, time.Minute, "Failed to pull `web`: it took longer than the image_pull_timeout of 20ms"},
		"stall":   {time.Minute, soon, "Failed to pull `web`: nothing arrived for the pull_activity_timeout of 20ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, map[string][]string{"POST /images/create": {hangs}})
			s, _ := newStore(t)
			s.Options.PullActivityTimeout = c.stalls
			config := &settings.Config{Common: settings.Common{Image: "web", ImagePullTimeout: c.timeout, ForcePull: true}}
			if err := s.Provide(t.Context(), e.Client, &drivers.TaskConfig{}, config); err == nil || err.Error() != c.want || !drivers.IsRecoverable(err) {
				t.Errorf("the error is %v, not %q", err, c.want)
			}
		})
	}
}

// A start that is abandoned during a pull does not use the image that is here.
func TestPullIsAbandoned(t *testing.T) {
	t.Parallel()
	why := errors.New("the run ends")
	for name, want := range map[string]error{"unwanted": drivers.ErrUnwanted, "stopped": why} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancelCause(t.Context())
			unwanted := make(chan struct{})
			e := newEngine(t, map[string][]string{"GET /images/web/json": {here}, "POST /images/create": {hangs}})
			e.hanging = func() {
				if name == "stopped" {
					stop(why)
				} else {
					close(unwanted)
				}
			}
			s, messages := newStore(t)
			config := &settings.Config{Common: settings.Common{Image: "web", ImagePullTimeout: time.Minute}}
			if err := s.Provide(ctx, e.Client, &drivers.TaskConfig{Unwanted: unwanted}, config); !errors.Is(err, want) || err.Error() != want.Error() {
				t.Errorf("the error is %v, not %q", err, want)
			}
			if diff := cmp.Diff([]string{"Downloading image"}, messages()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// slowly is a connection to an engine that sends a message of a pull now and
// then.
type slowly struct {
	every time.Duration
	left  int
}

func (s *slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(s), Request: r}, nil
}

func (s *slowly) Read(b []byte) (int, error) {
	if s.left--; s.left < 0 {
		return 0, io.EOF
	}
	<-time.After(s.every)
	return copy(b, `{"status":"Waiting","id":"a"}`), nil
}

// The limit of inactivity counts from the last message.
func TestPullSlowly(t *testing.T) {
	t.Parallel()
	for every, want := range map[time.Duration]string{
		90 * time.Second:  "",
		150 * time.Second: "Failed to pull `web`: nothing arrived for the pull_activity_timeout of 2m0s",
	} {
		s, _ := newStore(t)
		synctest.Test(t, func(t *testing.T) {
			cli, err := client.New(client.WithHost("tcp://engine:1"), client.WithAPIVersion("1.51"), client.WithHTTPClient(&http.Client{Transport: &slowly{every, 4}}))
			if err != nil {
				t.Fatal(err)
			}
			s := &Store{Options: s.Options, Events: &eventer.Eventer{}}
			config := &settings.Config{Common: settings.Common{Image: "web", ImagePullTimeout: time.Hour, ForcePull: true}}
			if err := s.Provide(t.Context(), cli, &drivers.TaskConfig{}, config); (err == nil) != (want == "") || err != nil && err.Error() != want {
				t.Errorf("a message every %v: %v", every, err)
			}
		})
	}
}

// Live views see a pull several times a second, and its end; the task has an
// event now and then.
func TestReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Store{Events: &eventer.Eventer{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events, err := s.Events.TaskEvents(ctx)
		if err != nil {
			t.Fatal(err)
		}
		p := newProgress("web:1")
		p.add(jsonstream.Message{ID: "a", Status: "Waiting"})
		s.report(&drivers.TaskConfig{Name: "task"}, p)() // it was too short
		if len(events) != 0 {
			t.Errorf("there are %d events", len(events))
		}
		stop := s.report(&drivers.TaskConfig{Name: "task"}, p)
		<-time.After(5100 * time.Millisecond)
		stop()
		live, words, last := 0, []string(nil), drivers.TaskEvent{}
		for len(events) > 0 {
			switch last = <-events; {
			case last.Progress == nil:
				words = append(words, last.Message+" of "+last.Annotations["image"])
			case *last.Progress == drivers.Progress{What: "web:1", Detail: "0 of 1 layers"}:
				live++
			}
			if last.TaskName != "task" {
				t.Errorf("it is of task %q", last.TaskName)
			}
		}
		if live != 20 || last.Progress == nil || *last.Progress != (drivers.Progress{What: "web:1", Over: true}) {
			t.Errorf("there were %d, and at last %+v", live, last.Progress)
		}
		if diff := cmp.Diff([]string{"Docker image pull progress: Pulled 0/1 (0B/0B) layers: 1 waiting/0 pulling of web:1"}, words); diff != "" {
			t.Error(diff)
		}
	})
}

// The image of a container that holds a network has one program, for the
// machine of the engine.
func TestPause(t *testing.T) {
	t.Parallel()
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		name := "taskrun/pause:2-" + arch
		find := "GET /images/" + name + "/json"
		e := newEngine(t, map[string][]string{"GET /version": {`{"Arch":"` + arch + `"}`}, find: {missing, here}, "POST /images/create": {"{}"}})
		s, _ := newStore(t)
		if got, program, err := s.Pause(t.Context(), e.Client, "alloc"); err != nil || got != name || len(program) != 1 || program[0] != "/pause" {
			t.Fatalf("%q, %q, %v", got, program, err)
		}
		r := tar.NewReader(bytes.NewReader(e.posted))
		header, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if header.Name != "pause" || header.Mode != 0o755 || header.Typeflag != tar.TypeReg {
			t.Errorf("the file is %+v", header)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the file: %v", err)
		}
		f, err := elf.NewFile(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		want := elf.FileHeader{
			Class: elf.ELFCLASS64, Data: elf.ELFDATA2LSB, Version: elf.EV_CURRENT, Type: elf.ET_EXEC, Machine: machine, Entry: 0x400078, ByteOrder: f.ByteOrder,
		}
		if diff := cmp.Diff(want, f.FileHeader); diff != "" || len(f.Progs) != 1 {
			t.Fatalf("%d segments, %s", len(f.Progs), diff)
		}
		size := uint64(len(data))
		if diff := cmp.Diff(elf.ProgHeader{
			Type: elf.PT_LOAD, Flags: elf.PF_R | elf.PF_X, Vaddr: 0x400000, Paddr: 0x400000, Filesz: size, Memsz: size, Align: 0x1000,
		}, f.Progs[0].ProgHeader); diff != "" {
			t.Error(diff)
		}
		if !bytes.HasSuffix(data, []byte("\x01\x00"+settings.Sockets+"\x00")) {
			t.Errorf("it ends with %q", data[len(data)-20:])
		}
		e.asked = nil
		if got, _, err := s.Pause(t.Context(), e.Client, "alloc"); err != nil || got != name {
			t.Errorf("the second time: %q, %v", got, err)
		}
		if diff := cmp.Diff([]string{"GET /version", find}, e.asked); diff != "" {
			t.Errorf("the second time (-want +got):\n%s", diff)
		}
	}
}

func TestPauseOfOptions(t *testing.T) {
	t.Parallel()
	e := newEngine(t, map[string][]string{"GET /images/infra:1/json": {missing}, "POST /images/create": {"{}", hangs}})
	s, messages := newStore(t)
	s.Options.InfraImage, s.Options.InfraImagePullTimeout = "infra:1", time.Minute
	if name, program, err := s.Pause(t.Context(), e.Client, "alloc"); err != nil || name != "infra:1" || program != nil {
		t.Errorf("%q, %q, %v", name, program, err)
	}
	if diff := cmp.Diff([]string{"Downloading image"}, messages()); diff != "" {
		t.Error(diff)
	}
	s.Options.InfraImagePullTimeout = time.Millisecond
	if _, _, err := s.Pause(t.Context(), e.Client, "alloc"); err == nil || !strings.Contains(err.Error(), "image_pull_timeout of 1ms") {
		t.Errorf("the error is %v", err)
	}
}

func TestPauseFails(t *testing.T) {
	t.Parallel()
	const (
		find   = "GET /images/taskrun/pause:2-amd64/json"
		create = "POST /images/create"
		arch   = `{"Arch":"amd64"}`
	)
	for want, answers := range map[string]map[string][]string{
		"cannot ask the engine for its machine: Error response from daemon: broken":                {"GET /version": {broken}},
		`cannot make the network of the group on a machine of kind "s390x": use network mode host`: {"GET /version": {`{"Arch":"s390x"}`}},
		"cannot look for image taskrun/pause:2-amd64: Error response from daemon: broken":          {"GET /version": {arch}, find: {broken}},
		"cannot make image taskrun/pause:2-amd64: Error response from daemon: broken":              {"GET /version": {arch}, find: {missing}, create: {broken}},
		"cannot make image taskrun/pause:2-amd64: no space":                                        {"GET /version": {arch}, find: {missing}, create: {`{"error":"no space","errorDetail":{"message":"no space"}}`}},
	} {
		s, _ := newStore(t)
		if name, _, err := s.Pause(t.Context(), newEngine(t, answers).Client, "alloc"); name != "" || err == nil || err.Error() != want {
			t.Errorf("%q, %v, not %s", name, err, want)
		}
	}
}
