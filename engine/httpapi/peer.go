package httpapi

import (
	"net"
	"os"
	"sync"
)

// ownListener accepts only connections of this user and of root, even if the
// modes of the socket and its directory were changed.
type ownListener struct {
	net.Listener
	path   string
	remove sync.Once
}

// Close closes the listener and removes its socket. It removes the socket only
// once: later, the name may belong to another one.
func (l *ownListener) Close() error {
	l.remove.Do(func() { _ = os.Remove(l.path) }) // it may be gone already
	return l.Listener.Close()
}

// Accept skips the connections of other users.
func (l *ownListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, err := peerUID(conn.(*net.UnixConn)); err == nil && (uid == os.Geteuid() || uid == 0) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

func peerUID(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peerErr error
	err = raw.Control(func(fd uintptr) { uid, peerErr = credentials(int(fd)) })
	if err == nil {
		err = peerErr
	}
	return uid, err
}
