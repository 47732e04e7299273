package check_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/hooks/services/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// at returns a check of an address.
func at(t *testing.T, address string, c api.ServiceCheck) *check.Check {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	return &check.Check{ServiceCheck: c, Address: host, Port: number}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// closed returns an address where nothing listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func expect(t *testing.T, got check.Result, status string, code int, output string) {
	t.Helper()
	if got.Status != status || got.Code != code || !strings.Contains(got.Output, output) {
		t.Errorf("the result is %+v, want %s, %d, %q", got, status, code, output)
	}
}

func TestTCP(t *testing.T) {
	t.Parallel()
	up := serve(t, func(http.ResponseWriter, *http.Request) {})
	expect(t, at(t, up, api.ServiceCheck{Type: "tcp"}).Probe(t.Context()), check.Success, 0, "nomad: tcp ok")
	expect(t, at(t, closed(t), api.ServiceCheck{Type: "tcp"}).Probe(t.Context()), check.Failure, 0, "connection refused")
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/created":
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte("made"))
		case "/bad":
			w.WriteHeader(http.StatusBadRequest)
		case "/fail":
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte(strings.Repeat("x", 10000)))
		case "/hang":
			<-hang
		}
	})
	defer close(hang)
	http := func(c api.ServiceCheck) check.Result {
		c.Type = "http"
		return at(t, up, c).Probe(t.Context())
	}
	expect(t, http(api.ServiceCheck{Path: "/ok"}), check.Success, 200, "nomad: http ok")
	expect(t, http(api.ServiceCheck{Path: "/moved"}), check.Success, 200, "nomad: http ok")
	expect(t, http(api.ServiceCheck{Path: "/created"}), check.Success, 201, "made")
	expect(t, http(api.ServiceCheck{Path: "/bad"}), check.Failure, 400, "")
	failed := http(api.ServiceCheck{Path: "/fail"})
	expect(t, failed, check.Failure, 418, "xxx")
	if len(failed.Output) != 3<<10 {
		t.Errorf("%d bytes of the answer were kept", len(failed.Output))
	}
	expect(t, http(api.ServiceCheck{Path: "/hang", Timeout: time.Millisecond}), check.Failure, 0, "no answer within 1ms")
	expect(t, at(t, closed(t), api.ServiceCheck{Type: "http", Path: "/"}).Probe(t.Context()), check.Failure, 0, "nomad: ")
}

func TestHTTPRequest(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 1)
	up := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r })
	at(t, up, api.ServiceCheck{
		Type: "http", Path: "/a?b=c", Method: "POST", Body: "text",
		Header: map[string][]string{"Host": {"example.test"}, "X-Many": {"1", "2"}},
	}).Probe(t.Context())
	r := <-seen
	if r.Method != "POST" || r.URL.String() != "/a?b=c" || r.Host != "example.test" || len(r.Header["X-Many"]) != 2 || r.ContentLength != 4 {
		t.Errorf("the request was %s %s, %s, %v", r.Method, r.URL, r.Host, r.Header)
	}
	if r.Header.Get("User-Agent") != "taskrun" {
		t.Errorf("the user agent is %q", r.Header.Get("User-Agent"))
	}
}

// TestTLSServerName records the server names that probes send.
func TestTLSServerName(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		asked <- hello.ServerName
		return nil, nil //nolint:nilnil // the server's own
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	for _, c := range []api.ServiceCheck{{Type: "http", Protocol: "https", Path: "/"}, {Type: "grpc", GRPCUseTLS: true}} {
		c.TLSSkipVerify, c.TLSServerName = true, "name.test"
		at(t, s.Listener.Addr().String(), c).Probe(t.Context())
		select {
		case got := <-asked:
			if got != "name.test" {
				t.Errorf("%s: asked for %q", c.Type, got)
			}
		default:
			t.Errorf("%s: nobody was asked", c.Type)
		}
	}
}

// The messages are those of grpc.health.v1.
func TestGRPC(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"":          "\x00\x00\x00\x00\x02\x08\x01", // SERVING
		"\x0a\x01b": "\x00\x00\x00\x00\x02\x08\x02", // b is NOT_SERVING
		"\x0a\x01u": "\x00\x00\x00\x00\x00",         // u is UNKNOWN
		"\x0a\x01x": "nonsense",
	}
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 100)
		n, _ := r.Body.Read(body)
		kind, te := r.Header.Get("Content-Type"), r.Header.Get("TE")
		if r.URL.Path != "/grpc.health.v1.Health/Check" || r.ProtoMajor != 2 || n < 5 || kind != "application/grpc" || te != "trailers" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		answer, ok := answers[string(body[5:n])]
		if !ok {
			w.Header().Set("Grpc-Status", "5")
			w.Header().Set("Grpc-Message", "who?")
			return
		}
		_, _ = w.Write([]byte(answer))
		w.Header().Set("Grpc-Status", "0")
	})
	probe := func(service string) check.Result {
		return at(t, up, api.ServiceCheck{Type: "grpc", GRPCService: service}).Probe(t.Context())
	}
	expect(t, probe(""), check.Success, 0, "SERVING")
	expect(t, probe("b"), check.Failure, 0, "NOT_SERVING")
	expect(t, probe("u"), check.Failure, 0, "UNKNOWN")
	expect(t, probe("x"), check.Failure, 0, "not a gRPC message")
	expect(t, probe("nobody"), check.Failure, 0, `status "5": who?`)
	expect(t, at(t, closed(t), api.ServiceCheck{Type: "grpc"}).Probe(t.Context()), check.Failure, 0, "refused")
}

func TestScript(t *testing.T) {
	t.Parallel()
	probe := func(result drivers.ExitResult, err error) check.Result {
		c := &check.Check{ServiceCheck: api.ServiceCheck{Type: "script", Command: "c", Args: []string{"a"}, Timeout: time.Second}}
		c.Exec = func(_ context.Context, cmd []string) (*drivers.ExecTaskResult, error) {
			if strings.Join(cmd, " ") != "c a" {
				t.Errorf("the command is %q", cmd)
			}
			return &drivers.ExecTaskResult{Output: []byte("said"), ExitResult: result}, err
		}
		return c.Probe(t.Context())
	}
	expect(t, probe(drivers.ExitResult{}, nil), check.Success, 0, "said")
	warned := probe(drivers.ExitResult{ExitCode: 1}, nil)
	expect(t, warned, check.Failure, 1, "said")
	if !warned.Warning {
		t.Error("code 1 is no warning")
	}
	expect(t, probe(drivers.ExitResult{ExitCode: 2}, nil), check.Failure, 2, "said")
	expect(t, probe(drivers.ExitResult{}, errors.New("no such command")), check.Failure, 0, "no such command")
}

// The target of a check is a URL, an address or a command.
func TestTarget(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]api.ServiceCheck{
		"http://127.0.0.1:80/health?a=b": {Type: "http", Path: "/health?a=b"},
		"https://127.0.0.1:80/":          {Type: "http", Protocol: "https"},
		"127.0.0.1:80":                   {Type: "tcp"},
		"sh -c true":                     {Type: "script", Command: "sh", Args: []string{"-c", "true"}},
	} {
		if got := (&check.Check{ServiceCheck: c, Address: "127.0.0.1", Port: 80}).Target(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestID(t *testing.T) {
	t.Parallel()
	id := func(change func(*check.Check)) string {
		c := &check.Check{ServiceCheck: api.ServiceCheck{Name: "n", Type: "tcp"}, Service: "s"}
		change(c)
		c.SetID("alloc")
		return c.ID
	}
	same := id(func(*check.Check) {})
	if same != id(func(*check.Check) {}) {
		t.Error("the same check has another ID")
	}
	for name, change := range map[string]func(*check.Check){
		"name":    func(c *check.Check) { c.Name = "m" },
		"service": func(c *check.Check) { c.Service = "t" },
		"task":    func(c *check.Check) { c.Task = "t" },
		"path":    func(c *check.Check) { c.Path = "/" },
		"header":  func(c *check.Check) { c.Header = map[string][]string{"a": {"b"}} },
		"body":    func(c *check.Check) { c.Body = "b" },
		"grpc":    func(c *check.Check) { c.GRPCService = "g" },
		"grpcs":   func(c *check.Check) { c.GRPCUseTLS = true },
		"tls":     func(c *check.Check) { c.TLSServerName = "n" },
	} {
		if id(change) == same {
			t.Errorf("another %s makes no other ID", name)
		}
	}
}

// A check about updates that are ignored is one of readiness.
func TestMode(t *testing.T) {
	t.Parallel()
	for on, want := range map[string]string{
		"": check.Healthiness, "require_healthy": check.Healthiness, "ignore_warnings": check.Healthiness, "ignore": check.Readiness,
	} {
		if got := (&check.Check{ServiceCheck: api.ServiceCheck{OnUpdate: on}}).Mode(); got != want {
			t.Errorf("on_update %q: %s, want %s", on, got, want)
		}
	}
}

// A check that cannot be probed fails, and says why. The beginning of a long output
// is kept.
func TestProbesThatFail(t *testing.T) {
	t.Parallel()
	up := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	expect(t, at(t, up, api.ServiceCheck{Type: "grpc"}).Probe(t.Context()), check.Failure, 0, "the server answers 404 Not Found, which is not gRPC")
	expect(t, at(t, up, api.ServiceCheck{Type: "odd"}).Probe(t.Context()), check.Failure, 0, `checks of type "odd" are not run here`)
	expect(t, at(t, up, api.ServiceCheck{Type: "script", Command: "c"}).Probe(t.Context()), check.Failure, 0, "the task's driver cannot run commands in it")
	expect(t, at(t, up, api.ServiceCheck{Type: "http", Method: "bad method"}).Probe(t.Context()), check.Failure, 0, "invalid method")
	long := at(t, up, api.ServiceCheck{Type: "script", Command: "c"})
	long.Exec = func(context.Context, []string) (*drivers.ExecTaskResult, error) {
		return &drivers.ExecTaskResult{Output: []byte(strings.Repeat("x", 4000))}, nil
	}
	if r := long.Probe(t.Context()); r.Status != check.Success || len(r.Output) != 3<<10 {
		t.Errorf("%s, %d bytes are kept", r.Status, len(r.Output))
	}
}
