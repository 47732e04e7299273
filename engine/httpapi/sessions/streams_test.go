package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/drivers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is the other end of a session.
type client struct {
	in   chan *api.ExecStreamingInput
	sent []string
	fail error // of send
}

func (c *client) send(m *api.ExecStreamingOutput) error {
	op := func(stream string, o *api.ExecStreamingIOOperation) {
		if o != nil {
			c.sent = append(c.sent, fmt.Sprintf("%s %q close=%v", stream, o.Data, o.Close))
		}
	}
	op("stdout", m.Stdout)
	op("stderr", m.Stderr)
	if m.Exited {
		c.sent = append(c.sent, fmt.Sprintf("exit %d", m.Result.ExitCode))
	}
	return c.fail
}

func (c *client) types(text string) {
	c.in <- &api.ExecStreamingInput{Stdin: &api.ExecStreamingIOOperation{Data: []byte(text)}}
}

// commands is a driver whose commands are functions.
type commands struct {
	drivers.Driver
	run func(ctx context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error)
}

func (c commands) ExecTaskStreaming(ctx context.Context, _ string, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
	return c.run(ctx, o)
}

// runs runs a command of a driver over messages.
func runs(t *testing.T, d drivers.Driver, command []string, tty bool, c *client) error {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s := newStreams(c.send)
	defer s.stdin.close(io.ErrClosedPipe)
	go func() {
		for m := range c.in {
			s.take(m)
		}
		cancel(errors.New("the client is gone"))
		s.stdin.close(io.ErrUnexpectedEOF)
	}()
	return s.run(ctx, &drivers.ExecOptions{Command: command, Tty: tty}, func(ctx context.Context, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
		return drivers.ExecTask(ctx, d, "id", opts)
	})
}

func TestExecOverMessages(t *testing.T) {
	t.Parallel()
	c := &client{in: make(chan *api.ExecStreamingInput, 10)}
	defer close(c.in)
	c.types("one ")
	c.in <- &api.ExecStreamingInput{} // a sign of life
	c.types("two")
	c.in <- &api.ExecStreamingInput{Stdin: &api.ExecStreamingIOOperation{Close: true}}
	d := commands{run: func(_ context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
		text, err := io.ReadAll(o.Stdin)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(o.Stdout, "%s: %s", strings.Join(o.Command, " "), text)
		fmt.Fprint(o.Stderr, "oops")
		if o.Stdout == o.Stderr { // a driver may compare them
			t.Error("the writers are the same")
		}
		return &drivers.ExitResult{ExitCode: 3}, nil
	}}
	if err := runs(t, d, []string{"cat", "-u"}, false, c); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`stdout "cat -u: one two" close=false`, `stderr "oops" close=false`,
		`stdout "" close=true`, `stderr "" close=true`, "exit 3",
	}
	if diff := cmp.Diff(want, c.sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

func TestExecSendsTheNewestSize(t *testing.T) {
	t.Parallel()
	c := &client{in: make(chan *api.ExecStreamingInput)}
	defer close(c.in)
	go func() {
		for i := range 100 {
			c.in <- &api.ExecStreamingInput{TTYSize: &api.TerminalSize{Height: i, Width: 80}}
		}
	}()
	d := commands{run: func(_ context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
		last := -1
		for size := range o.Resize {
			if size.Height <= last {
				t.Errorf("size %d after %d", size.Height, last)
			}
			if last = size.Height; last == 99 {
				break
			}
		}
		return &drivers.ExitResult{}, nil
	}}
	if err := runs(t, d, []string{"top"}, true, c); err != nil {
		t.Fatal(err)
	}
}

func TestExecEndsWithItsClient(t *testing.T) {
	t.Parallel()
	c := &client{in: make(chan *api.ExecStreamingInput)}
	d := commands{run: func(ctx context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
		close(c.in)
		<-ctx.Done()
		if _, err := io.ReadAll(o.Stdin); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("stdin ends with %v", err)
		}
		return &drivers.ExitResult{ExitCode: 137, Signal: 9}, nil
	}}
	err := runs(t, d, []string{"sleep"}, false, c)
	if err == nil || !strings.Contains(err.Error(), "the client is gone") {
		t.Errorf("ended with %v", err)
	}
	if len(c.sent) != 0 {
		t.Errorf("sent %q to nobody", c.sent)
	}
}

func TestExecOfACommandThatDoesNotRead(t *testing.T) {
	t.Parallel()
	c := &client{in: make(chan *api.ExecStreamingInput)}
	read := make(chan struct{})
	go func() {
		defer close(c.in)
		for range 4096 { // 4 MiB: more than the command reads plus the limit of unread input
			c.types(strings.Repeat("x", 1024))
			select {
			case <-read:
				return
			default:
			}
		}
		t.Error("all was taken, though nobody reads")
	}()
	d := commands{run: func(_ context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
		buf := make([]byte, 1<<20)
		if _, err := io.ReadFull(o.Stdin, buf); err != nil {
			t.Error(err)
		}
		close(read)
		return &drivers.ExitResult{}, nil
	}}
	_ = runs(t, d, []string{"head"}, false, c)
	for range c.in { // let the client end
	}
}

func TestExecRefused(t *testing.T) {
	t.Parallel()
	c := &client{in: make(chan *api.ExecStreamingInput)}
	defer close(c.in)
	broken := commands{run: func(context.Context, *drivers.ExecOptions) (*drivers.ExitResult, error) {
		return nil, drivers.ErrTaskNotFound
	}}
	for name, tt := range map[string]struct {
		driver  drivers.Driver
		command []string
		want    string
	}{
		"no command": {broken, nil, "command is not present"},
		"no exec":    {struct{ drivers.Driver }{}, []string{"x"}, "task driver does not support exec"},
		"no task":    {broken, []string{"x"}, "task not found for given id"},
	} {
		err := runs(t, tt.driver, tt.command, false, c)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// A client waits while the command has much to read, and continues when it has
// read.
func TestInputIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &input{}
		in.change.L = &in.mu
		in.write(make([]byte, maxUnread))
		written := false
		go func() {
			in.write([]byte("x"))
			written = true
		}()
		synctest.Wait()
		if written {
			t.Error("there is no limit")
		}
		if _, err := in.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !written || len(in.unread) != maxUnread {
			t.Errorf("after a read: written %v, %d bytes wait", written, len(in.unread))
		}
	})
}
