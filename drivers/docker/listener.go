package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"taskrun/drivers"
)

// backlog is how many connections may wait to be accepted.
const backlog = 1024

// insideListener listens in the network of a group. The network ends with the engine,
// but the container that holds it may be started again: then the listener
// listens in the new one.
type insideListener struct {
	network *drivers.NetworkIsolation
	at      *unix.SockaddrInet4
	all     *sync.Map // see networks

	mu      sync.Mutex
	closed  bool
	current net.Listener
}

// listen listens in the network that its container holds now.
func (l *insideListener) listen(ctx context.Context) error {
	s, err := socket(ctx, l.network)
	if err != nil {
		return err
	}
	defer s.Close()
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		if failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); failed == nil {
			failed = unix.Bind(int(fd), l.at)
		}
		if failed == nil {
			failed = unix.Listen(int(fd), backlog)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("cannot listen at %s in the network of the group: %w", netip.AddrPortFrom(netip.AddrFrom4(l.at.Addr), uint16(l.at.Port)), err)
	}
	made, err := net.FileListener(s)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		_ = l.current.Close()
	}
	l.current = made
	if l.closed {
		_ = made.Close()
	}
	return nil
}

// Accept implements net.Listener.
func (l *insideListener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		current := l.current
		l.mu.Unlock()
		conn, err := current.Accept()
		if err == nil {
			return conn, nil
		}
		l.mu.Lock()
		replaced := l.current != current
		l.mu.Unlock()
		if !replaced {
			return nil, err
		}
	}
}

// Addr implements net.Listener.
func (l *insideListener) Addr() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current.Addr()
}

// Close implements net.Listener.
func (l *insideListener) Close() error {
	l.all.Delete(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.current.Close()
}
