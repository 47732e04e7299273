package httpapi

import (
	"net"
	"os"
)

// ownListener accepts connections of this user and of root only, should the
// modes of socket and directory ever have been loosened.
type ownListener struct{ net.Listener }

// Accept passes over the connections of others.
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
