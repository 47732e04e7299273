package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/drivers"
	"taskrun/drivers/docker/settings"
	"taskrun/engine/leaf/allocdir"
)

// socketTime is how long a container that has just started may take until it hands
// out sockets.
const socketTime = 2 * time.Second

// makeSockets makes the directory in which the container that holds a network
// hands out sockets. No task can enter it.
func makeSockets(allocDir string) (string, error) {
	staging, err := allocdir.Staging(allocDir)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(staging, "net")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	// An engine with user namespaces runs the program as another user. Nobody
	// else gets through the staging directory.
	return dir, os.Chmod(dir, 0o777)
}

func parse(address string) (*unix.SockaddrInet4, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	if !at.Addr().Is4() {
		return nil, fmt.Errorf("cannot use %s in the network of the group: it is no IPv4 address", address)
	}
	return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}, nil
}

// socket returns a new TCP socket in a network, which does not block.
func socket(ctx context.Context, n *drivers.NetworkIsolation) (*os.File, error) {
	if n.Sockets == "" {
		return nil, errors.New("the network of the group has no address")
	}
	ctx, cancel := context.WithTimeout(ctx, socketTime)
	defer cancel()
	conn, err := allocdir.DialSocket(ctx, n.Sockets, settings.SocketName)
	for pause := time.Millisecond; err != nil; pause *= 2 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot open a socket in the network of the group: %w", err)
		}
		conn, err = allocdir.DialSocket(ctx, n.Sockets, settings.SocketName)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	fd, err := receive(conn)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open a socket in the network of the group: %w", err)
	}
	return os.NewFile(uintptr(fd), "socket"), nil
}

// receive receives a file descriptor; see unix(7), SCM_RIGHTS.
func receive(conn *net.UnixConn) (int, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, length, _, _, err := conn.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:length])
	if err != nil {
		return 0, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err == nil && len(fds) == 1 {
			return fds[0], nil
		}
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}
	return 0, errors.New("its container sent none")
}

// connect connects a socket.
func connect(ctx context.Context, s *os.File, to unix.Sockaddr) error {
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })()
	var result error
	err = raw.Write(func(fd uintptr) bool { // until it is connected, or cannot be
		result = unix.Connect(int(fd), to)
		return !errors.Is(result, unix.EINPROGRESS) && !errors.Is(result, unix.EALREADY)
	})
	switch {
	case err != nil:
		return errors.Join(context.Cause(ctx), err)
	case errors.Is(result, unix.EISCONN):
		return nil
	}
	return os.NewSyscallError("connect", result)
}
