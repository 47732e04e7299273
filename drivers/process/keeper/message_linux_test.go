package keeper

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/drivers/process"
)

// lines returns the two ends of a connection.
func lines(t *testing.T) (one, other *line) {
	t.Helper()
	a, b, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	ends := make([]*line, 2)
	for i, f := range []*os.File{a, b} {
		if ends[i], err = newLine(f); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ends[i].close() })
	}
	return ends[0], ends[1]
}

// A child is the same on the other side, however it ended.
func TestChildArrives(t *testing.T) {
	t.Parallel()
	keeper, program := lines(t)
	at := time.Date(2026, 3, 14, 12, 0, 0, 5, time.UTC)
	id := process.ID{PID: 4711}
	for _, want := range []process.Child{
		{ID: id, Tag: "runs"},
		{ID: id, Tag: "ended", Ended: true, EndedAt: at, Status: process.Status{ExitCode: 7}},
		{ID: id, Tag: "killed", Ended: true, EndedAt: at, Status: process.Status{ExitCode: 137, Signal: 9}},
	} {
		if err := keeper.send(message{Child: &want}); err != nil {
			t.Fatal(err)
		}
		m, err := program.receive()
		if err != nil || m.Child == nil {
			t.Fatalf("%+v, %v", m, err)
		}
		if got := *m.Child; !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
}

// Messages arrive one by one and in order, however large they are, with exactly
// the files that were sent with them.
func TestMessagesArriveInOrder(t *testing.T) {
	t.Parallel()
	keeper, program := lines(t)
	long := strings.Repeat("x", 20_000)
	sent := make(chan error, 1)
	go func() {
		for _, name := range []string{"a", long, "b", "c"} {
			m := message{Hold: name}
			if name != "b" {
				f, err := os.CreateTemp(t.TempDir(), "")
				if err != nil {
					sent <- err
					return
				}
				defer f.Close()
				if _, err := f.WriteString(name); err != nil {
					sent <- err
					return
				}
				m.file = f
			}
			if err := keeper.send(m); err != nil {
				sent <- err
				return
			}
		}
		sent <- keeper.close()
	}()
	for _, want := range []string{"a", long, "b", "c"} {
		m, err := program.receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.Hold != want || m.File != (want != "b") || (m.file != nil) != m.File {
			t.Fatalf("received %.20q, with a file %t, want %.20q", m.Hold, m.file != nil, want)
		}
		if m.file == nil {
			continue
		}
		text, err := io.ReadAll(io.NewSectionReader(m.file, 0, 1<<20))
		if err != nil || string(text) != want {
			t.Errorf("the file of %.20q holds %.20q, %v", want, text, err)
		}
		flags, err := unix.FcntlInt(m.file.Fd(), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("tasks would inherit the file: flags %#x, %v", flags, err)
		}
		m.file.Close()
	}
	if _, err := program.receive(); err == nil {
		t.Error("there is a message after the end")
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// An invalid message, or one with something other than a file, is an error.
func TestInvalidMessages(t *testing.T) {
	t.Parallel()
	keeper, program := lines(t)
	if _, err := keeper.conn.Write([]byte("{\"Mark\":\n")); err != nil {
		t.Fatal(err)
	}
	syntax := (*json.SyntaxError)(nil)
	if _, err := program.receive(); !errors.As(err, &syntax) {
		t.Errorf("no JSON: error %v", err)
	}
	// The credentials of the sender arrive as a control message.
	raw, err := program.conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := keeper.send(message{Mark: 7}); err != nil {
		t.Fatal(err)
	}
	if m, err := program.receive(); err == nil {
		t.Errorf("credentials were taken for a file: %+v", m)
	}
	if err := program.accept(bytes.Repeat([]byte{1}, 20)); err == nil {
		t.Error("noise was taken for a control message")
	}
	if _, err := newLine(regular(t)); err == nil {
		t.Error("a file was taken for a connection")
	}
}

func regular(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The end of the peer is net.ErrClosed, or an error of the connection.
func TestPeerIsGone(t *testing.T) {
	t.Parallel()
	keeper, program := lines(t)
	if err := keeper.close(); err != nil {
		t.Fatal(err)
	}
	if m, err := program.receive(); !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
		t.Errorf("received %+v, %v", m, err)
	}
	if err := program.send(message{Mark: 7}); err == nil {
		t.Error("something was sent to nobody")
	}
}
