package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/httpapi/events"
	"taskrun/engine/httpapi/feed"
	"taskrun/engine/httpapi/rest"
	"taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// pipes is a listener whose connections are in memory and unbuffered: a write
// waits until it is read.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accept:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (*pipes) Addr() net.Addr { return &net.UnixAddr{} }

// dial connects and sends a text.
func (p *pipes) dial(text string) net.Conn {
	client, server := net.Pipe()
	p.accept <- server
	go func() { _, _ = io.WriteString(client, text) }()
	return client
}

// talkative is a driver whose commands repeat what they read.
type talkative struct{ drivers.Driver }

func (talkative) ExecTaskStreaming(_ context.Context, _ string, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
	_, err := io.Copy(o.Stdout, o.Stdin)
	return &drivers.ExitResult{}, err
}

// served serves a job with a task that fails once per second and another one,
// in virtual time.
func served(t *testing.T, play func(s *Server, p *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		task := api.NewTask("t", "mock_driver")
		task.Config = map[string]any{"run_for": "1s", "exit_code": 1}
		task.RestartPolicy = &api.RestartPolicy{Attempts: new(1 << 30), Delay: new(time.Duration(0)), Interval: new(time.Hour), Mode: new("delay")}
		other := api.NewTask("other", "mock_driver")
		other.Config = map[string]any{"run_for": "1h"}
		g := api.NewTaskGroup("g", 1)
		g.Tasks = []*api.Task{task, other}
		job := &api.Job{
			ID: new("job"), Type: new("batch"), TaskGroups: []*api.TaskGroup{g},
			Meta: map[string]string{"large": strings.Repeat("x", 64<<10)},
		}
		job.Canonicalize()
		node := &taskenv.Node{ID: "node", Region: "global"}
		e := engine.New(engine.Config{
			DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": talkative{mock.New()}},
			Hooks: catalog.New(catalog.Options{}), Node: node,
		})
		s := New(e, Config{Node: node})
		p := &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(p) }()
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		play(s, p)
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

const hostLine = "Host: 127.0.0.1\r\n"

// A client that sends its request too slowly is cut off.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, answer string
		within       time.Duration
	}{
		"nothing":       {"", "", headerTime},
		"half a header": {"GET /v1/jobs HTTP/1.1\r\n" + hostLine + "X: ", "", headerTime},
		"no body":       {"PUT /v1/search HTTP/1.1\r\n" + hostLine + "Content-Length: 100\r\n\r\n{", "HTTP/1.1 400", rest.BodyTime},
		"no job":        {"PUT /v1/jobs HTTP/1.1\r\n" + hostLine + "Content-Length: 100\r\n\r\n{", "HTTP/1.1 400", rest.BodyTime},
		"no path":       {"PUT /v1/nothing HTTP/1.1\r\n" + hostLine + "Content-Length: 100\r\n\r\n{", "HTTP/1.1 404", rest.BodyTime},
		"idle":          {"GET /v1/jobs HTTP/1.1\r\n" + hostLine + "\r\n", "HTTP/1.1 200", idleTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			served(t, func(_ *Server, p *pipes) {
				began := time.Now()
				answer, _ := io.ReadAll(p.dial(c.text)) // until it is cut off
				if took := time.Since(began); took > c.within+time.Second || !strings.HasPrefix(string(answer), c.answer) || c.answer == "" && len(answer) > 0 {
					t.Errorf("%.100q after %v", answer, took)
				}
			})
		})
	}
}

// A header that arrives byte by byte gets no more time.
func TestDrippingRequest(t *testing.T) {
	t.Parallel()
	served(t, func(_ *Server, p *pipes) {
		began := time.Now()
		conn := p.dial("GET /v1/jobs HTTP/1.1\r\nX: ")
		var err error
		for err == nil {
			<-time.After(time.Second)
			_, err = io.WriteString(conn, "x")
		}
		if took := time.Since(began); took > headerTime+2*time.Second {
			t.Errorf("cut off after %v", took)
		}
	})
}

// Unread responses are dropped, and so are clients that read no events.
func TestUnreadResponses(t *testing.T) {
	t.Parallel()
	for path, within := range map[string]time.Duration{
		"/v1/job/job": rest.ReadTime, "/v1/event/stream": events.LineTime, "/v1/metrics?format=prometheus": rest.ReadTime,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			served(t, func(_ *Server, p *pipes) {
				conn := p.dial("GET " + path + " HTTP/1.1\r\n" + hostLine + "\r\n")
				if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil {
					t.Fatal(err)
				}
				<-time.After(within + time.Second)
				synctest.Wait()
				if rest, _ := io.ReadAll(conn); len(rest) > 0 {
					t.Errorf("%d bytes were kept", len(rest))
				}
			})
		})
	}
}

// A client that reads events too slowly is cut off before too many are queued.
func TestSlowReaderOfEvents(t *testing.T) {
	t.Parallel()
	served(t, func(s *Server, p *pipes) {
		r := bufio.NewReader(p.dial("GET /v1/event/stream HTTP/1.1\r\n" + hostLine + "\r\n"))
		for line := ""; !strings.Contains(line, `"Index"`); {
			var err error
			if line, err = r.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		for i := range events.MaxBehind + 2*feed.Kept {
			s.tracker.Feed.Add(uint64(i), feed.Occurrence{Topic: api.TopicNode, Kind: fmt.Sprint(i)})
		}
		n := 0
		for ; n < events.MaxBehind; n++ {
			if _, err := r.ReadString('\n'); err != nil {
				break
			}
		}
		if n > events.MaxBehind/2 {
			t.Errorf("it has read %d lines more", n)
		}
	})
}
