package httpapi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// serveUnderFire runs a job that goes on whatever happens, and one that can be
// dispatched: tasks must still be started.
func serveUnderFire(t *testing.T) *fixture {
	t.Helper()
	parent := newJob("parent", "batch", newTask("child", "run_for", "1h"))
	parent.ParameterizedJob = &api.ParameterizedJobConfig{}
	parent.Canonicalize()
	f := serve(t, newJob("job", "service", newTask("main", "run_for", "1h")), parent)
	f.running("main")
	return f
}

// undisturbed checks that the run goes on, and that a task can be started.
func (f *fixture) undisturbed() {
	f.Helper()
	if _, _, err := f.engine.Dispatch("parent", engine.Dispatch{}); err != nil {
		f.Fatal(err)
	}
	f.running("child")
	for _, a := range f.engine.Allocs() {
		if a.Group == "g" && a.Alloc.Job == "job" && a.Status != "running" {
			f.Errorf("allocation %s is %s", a.Name, a.Status)
		}
	}
	jobs, _, err := f.client.Jobs().List(nil)
	if err != nil || len(jobs) < 2 {
		f.Errorf("%d jobs are shown, %v", len(jobs), err)
	}
}

// connect opens a connection without saying anything.
func (f *fixture) connect(network, addr string) net.Conn {
	f.Helper()
	conn, err := new(net.Dialer).DialContext(f.Context(), network, addr)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		f.Fatal(err)
	}
	return conn
}

// flood opens as many connections as a listener takes, and some more, and
// returns them.
func (f *fixture) flood(network, addr string) (open []net.Conn) {
	f.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		f.Fatal(err)
	}
	for range min(max(limit.Cur/8, 64), 4096) + 100 {
		open = append(open, f.connect(network, addr))
	}
	head := make([]byte, 12)
	if _, err := io.ReadFull(open[len(open)-1], head); err != nil || string(head) != "HTTP/1.1 429" {
		f.Errorf("the last of %d connections: %q, %v", len(open), head, err)
	}
	return open
}

// Thousands of connections leave descriptors for the tasks, and those who were
// connected before are served; whoever comes later is told why he is not.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	f.undisturbed() // which has connected
	addr, token := f.serveTCP()
	open := append(f.flood("unix", f.path), f.flood("tcp", addr)...)
	f.undisturbed()
	late, err := api.NewClient(&api.Config{Address: "unix://" + f.path})
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if _, _, err := late.Jobs().List(nil); err == nil || !strings.Contains(err.Error(), "429 (Too many concurrent connections)") {
		t.Errorf("one too many: %v", err)
	}
	for _, conn := range open {
		_ = conn.Close()
	}
	deadline := time.Now().Add(patience)
	for _, c := range []struct{ addr, token string }{{"unix://" + f.path, ""}, {"http://" + addr, token}} {
		for {
			again, err := api.NewClient(&api.Config{Address: c.addr, SecretID: c.token})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = again.Jobs().List(nil)
			again.Close()
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("when they are gone: %v", err)
			}
		}
	}
}

// Who is not let in at the port takes nothing from the user at the socket.
func TestFloodAtThePort(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	addr, _ := f.serveTCP()
	f.flood("tcp", addr)
	f.undisturbed()
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	for name, text := range map[string]string{
		"nothing of HTTP":        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"HTTP/2":                 "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/0.9":               "GET /v1/jobs\r\n\r\n",
		"two hosts":              "GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
		"no host":                "GET /v1/jobs HTTP/1.1\r\n\r\n",
		"another's host":         "GET http://evil.example/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"a proxy's request":      "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n",
		"options":                "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"preflight":              "OPTIONS /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: PUT\r\n\r\n",
		"a length below zero":    "PUT /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n{}",
		"two lengths":            "PUT /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
		"a length and chunks":    "PUT /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
		"chunks that are none":   "PUT /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
		"a name with a blank":    "GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX Y: z\r\n\r\n",
		"a path of zeros":        "GET /v1/job/%00%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"a broken escape":        "GET /v1/job/%zz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"two slashes":            "GET //v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"many headers":           "GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" + strings.Repeat("A: b\r\n", 100_000) + "\r\n",
		"a long path":            "GET /v1/job/" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"half a websocket":       "GET /v1/client/allocation/x/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"an unknown upgrade":     "GET /v1/client/allocation/x/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		"a form":                 "POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
		"an order that is a GET": "GET /v1/system/gc HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
	} {
		conn := f.connect("unix", f.path)
		go func() { _, _ = io.WriteString(conn, text) }() // who is cut off cannot say everything
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if resp.StatusCode < 400 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
		_ = resp.Body.Close()
	}
	f.undisturbed()
}

// Texts that become large in memory, or that would be looked into where there
// is nothing, are refused before they are.
func TestJobsThatAreTooMuch(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	wrap := func(groups string) string { return `{"Job":{"ID":"job","TaskGroups":[` + groups + `]}}` }
	task := func(fields string) string { return wrap(`{"Name":"g","Tasks":[{"Name":"t",` + fields + `}]}`) }
	many := func(what string, n int) string { return strings.Repeat(what+",", n) + what }
	for name, c := range map[string]struct{ body, want string }{
		"too long":      {`{"Job":{"ID":"` + strings.Repeat("x", 9<<20) + `"}}`, "http: request body too large"},
		"not whole":     {`{"Job":{"ID":"x"`, "unexpected end of JSON input"},
		"empty":         {"", "Request body is empty"},
		"two":           {`{"Job":{"ID":"x"}} {}`, "invalid character '{' after top-level value"},
		"deep":          {task(`"Config":{"a":` + strings.Repeat("[", 50_000) + `}`), "exceeded max depth"},
		"many groups":   {wrap(many("{}", 2_000_000)), "the job is too large"},
		"many numbers":  {task(`"Config":{"a":[` + many("1", 3_000_000) + `]}`), "the job is too large"},
		"ten thousand":  {wrap(many("{}", 11_000)), "the job has 11001 groups and tasks: 10000 are the most"},
		"null group":    {wrap("null"), "null is no value of the job's TaskGroups[0]"},
		"null task":     {wrap(`{"Tasks":[null]}`), "null is no value of the job's TaskGroups[0].Tasks[0]"},
		"null check":    {task(`"Services":[{"Checks":[]},null]`), "null is no value of the job's TaskGroups[0].Tasks[0].Services[1]"},
		"null volume":   {wrap(`{"Volumes":{"v":null}}`), `null is no value of the job's TaskGroups[0].Volumes["v"]`},
		"many services": {task(`"Services":[` + many("{}", 50_000) + `]`), " more"},
		"of no kind":    {`[]`, "cannot unmarshal array"},
	} {
		for _, path := range []string{"/v1/validate/job", "/v1/job/job/plan", "/v1/jobs"} {
			resp := f.do("PUT", path, strings.NewReader(c.body))
			body := readAll(t, resp.Body)
			unescaped := strings.ReplaceAll(body, `\"`, `"`)
			if !strings.Contains(unescaped, c.want) || len(body) > 64<<10 || path != "/v1/validate/job" && resp.StatusCode < 400 {
				t.Errorf("%s, %s: %d %.300q, want %q", name, path, resp.StatusCode, body, c.want)
			}
		}
	}
	for name, hcl := range map[string]string{
		"too long":  strings.Repeat("#", 1<<20+1),
		"deep":      `job "x" { meta { a = ` + strings.Repeat("[", 500_000) + ` } }`,
		"doubling":  "locals {\n a0 = \"aaaaaaaa\"\n" + doubling(40) + "}\njob \"x\" { name = local.a40 }",
		"a range":   `job "x" { meta { a = jsonencode(range(1e9)) } }`,
		"no text":   "\x00\xff\xfe",
		"a fortune": `job "x" { meta { a = bcrypt("a", 31) } }`,
	} {
		began := time.Now()
		_, err := f.client.Jobs().ParseHCL(hcl, true)
		if err == nil || !strings.Contains(err.Error(), "400 (Failed to parse job: ") || time.Since(began) > patience/2 {
			t.Errorf("%s: %.300v after %v", name, err, time.Since(began))
		}
	}
	f.undisturbed()
}

func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d = \"${local.a%d}${local.a%d}\"\n", i+1, i, i)
	}
	return b.String()
}

// A task that puts something else in the place of a file, again and again,
// never gets a client to read what is outside.
func TestFilesThatChangeWhileTheyAreRead(t *testing.T) {
	t.Parallel()
	f, id, dir := withFiles(t)
	flip := filepath.Join(dir, "t/local/flip")
	stop := make(chan struct{})
	var flipping sync.WaitGroup
	flipping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			next := flip + ".next"
			_ = os.Remove(next)
			switch i % 3 {
			case 0:
				_ = os.WriteFile(next, []byte("inside"), 0o600)
			case 1:
				_ = os.Symlink("../../../outside", next)
			case 2:
				_ = os.Symlink("../secrets/token", next)
			}
			_ = os.Rename(next, flip)
		}
	})
	defer flipping.Wait()
	defer close(stop)
	for range 300 {
		for _, call := range []string{"cat", "readat", "stat", "stream"} {
			resp := f.do("GET", "/v1/client/fs/"+call+"/"+id+"?offset=0&follow=false&path=t/local/flip", nil)
			if body := readAll(t, resp.Body); strings.Contains(body, "away") || strings.Contains(body, "s3cr3t") ||
				strings.Contains(body, "YXdheQ") || strings.Contains(body, "czNjcjN0") {
				t.Fatalf("%s: %q", call, body)
			}
		}
	}
}

// Paths in whatever spelling, and directories that hold secrets.
func TestPathsThatEscape(t *testing.T) {
	t.Parallel()
	f, id, dir := withFiles(t)
	if err := os.MkdirAll(filepath.Join(dir, "t/private"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "t/private/key"), []byte("s3cr3t"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "t/local/root")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"..", "../", "/..", "t/..", "t/../..", "....//outside", "%2e%2e/outside", `..\outside`, "t/local/root/etc/passwd",
		"t/local/../../../outside", "\x00", "t/\x00/../../outside", "t/private", "t/private/key",
		"t/secrets/.", "t/local/../secrets/token", "t//secrets//token", "T/secrets/token", "alloc/../t/secrets/token",
		"/etc/passwd", "//etc/passwd", "file:///etc/passwd", "t/local/in/../../secrets/token", strings.Repeat("../", 1000) + "etc/passwd",
		strings.Repeat("a/", 5000), strings.Repeat("a", 300),
	} {
		for _, call := range []string{"cat", "readat", "stat", "stream", "ls"} {
			resp := f.do("GET", "/v1/client/fs/"+call+"/"+id+"?offset=0&follow=false&path="+url.QueryEscape(path), nil)
			body := readAll(t, resp.Body)
			if resp.StatusCode == http.StatusOK && (path != "t/.." || call != "ls" && call != "stat") || strings.Contains(body, "root:") || strings.Contains(body, "s3cr3t") {
				t.Errorf("%s %.60q: %d %.100q", call, path, resp.StatusCode, body)
			}
		}
	}
	for _, id := range []string{"..", "../..", "%2e%2e", ""} {
		if resp := f.do("GET", "/v1/client/fs/ls/"+id, nil); resp.StatusCode != http.StatusNotFound {
			t.Errorf("allocation %q: %d", id, resp.StatusCode)
		}
	}
}

// A web page gets at nothing, not even one that knows the token and where to
// connect to: not by a websocket, a form or a name of its own.
func TestPagesWithTheToken(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	addr, token := f.serveTCP()
	_, port, _ := net.SplitHostPort(addr)
	alloc := ""
	for _, a := range f.engine.Allocs() {
		alloc = a.ID
	}
	upgrade := "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	exec := "GET /v1/client/allocation/" + alloc + "/exec?task=main&command=%5B%22a%22%5D HTTP/1.1\r\n" + upgrade
	for name, c := range map[string]struct {
		request string
		want    int
	}{
		"a page's websocket":        {exec + "Host: 127.0.0.1:" + port + "\r\nOrigin: http://evil.example\r\nX-Nomad-Token: " + token, 403},
		"a websocket of a file":     {exec + "Host: 127.0.0.1:" + port + "\r\nOrigin: null\r\nX-Nomad-Token: " + token, 403},
		"rebinding":                 {exec + "Host: evil.example:" + port + "\r\nOrigin: http://evil.example:" + port + "\r\nX-Nomad-Token: " + token, 403},
		"rebinding without origin":  {exec + "Host: evil.example:" + port + "\r\nX-Nomad-Token: " + token, 403},
		"a name like this machine":  {exec + "Host: 127.0.0.1.evil.example:" + port + "\r\nX-Nomad-Token: " + token, 403},
		"localhost of somebody":     {exec + "Host: localhost.evil.example\r\nX-Nomad-Token: " + token, 403},
		"a user in the host":        {exec + "Host: 127.0.0.1@evil.example\r\nX-Nomad-Token: " + token, 400},
		"any address":               {exec + "Host: 0.0.0.0:" + port + "\r\nX-Nomad-Token: " + token, 403},
		"without token":             {exec + "Host: 127.0.0.1:" + port, 403},
		"an empty token":            {exec + "Host: 127.0.0.1:" + port + "\r\nX-Nomad-Token: ", 403},
		"a token too long":          {exec + "Host: 127.0.0.1:" + port + "\r\nX-Nomad-Token: " + token + "x", 403},
		"a token in the query":      {strings.Replace(exec, "?", "?token="+token+"&X-Nomad-Token="+token+"&", 1) + "Host: 127.0.0.1:" + port, 403},
		"a token as password":       {exec + "Host: 127.0.0.1:" + port + "\r\nAuthorization: Basic " + token, 403},
		"the second of two tokens":  {exec + "Host: 127.0.0.1:" + port + "\r\nX-Nomad-Token: x\r\nX-Nomad-Token: " + token, 403},
		"a browser's own request":   {"GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nSec-Fetch-Site: same-site\r\nX-Nomad-Token: " + token, 403},
		"another method for a form": {"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nX-Nomad-Token: " + token + "\r\nContent-Length: 0", 405},
	} {
		conn := f.connect("tcp", addr)
		if _, err := io.WriteString(conn, c.request+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(conn)
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != c.want || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: status %d, want %d", name, resp.StatusCode, c.want)
		}
		if c.want == 403 {
			if _, err := reader.ReadByte(); !errors.Is(err, io.EOF) {
				t.Errorf("%s: the connection stays: %v", name, err)
			}
		}
	}
	f.undisturbed()
}

// A websocket that is opened and never used costs a command, and nothing else.
func TestWebsocketsThatStay(t *testing.T) {
	t.Parallel()
	started, killed := make(chan struct{}, 100), make(chan struct{}, 100)
	f := serveUnderFire(t)
	f.driver.exec = sleep(started, killed)
	alloc := ""
	for _, a := range f.engine.Allocs() {
		if a.Alloc.Job == "job" {
			alloc = a.ID
		}
	}
	var open []*websocket.Conn
	for range 100 {
		open = append(open, f.dial("/v1/client/allocation/"+alloc+"/exec?task=main&tty=false&command=[\"sleep\"]"))
		f.receive(started, "it did not start")
	}
	f.undisturbed()
	for _, conn := range open {
		_ = conn.Close()
	}
	for range 100 {
		f.receive(killed, "a command outlives its client")
	}
}
