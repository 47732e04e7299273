package port

import (
	"errors"
	"net"
	"strconv"
	"syscall"
)

// Address is the address of every port: tasks serve this machine only.
const Address = "127.0.0.1"

// taken reports whether a process listens on a port. If this user may not listen on
// the port, it looks in the table of sockets.
func taken(number int) bool {
	l, err := net.Listen("tcp4", net.JoinHostPort(Address, strconv.Itoa(number)))
	if err == nil {
		_ = l.Close()
		return false
	}
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EACCES) && listening(number)
}

// untouched reports whether a program could listen on a port at every address, and
// no datagram socket has it.
func untouched(number int) bool {
	text := strconv.Itoa(number)
	for _, address := range []string{net.JoinHostPort(Address, text), ":" + text} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	p, err := net.ListenPacket("udp4", net.JoinHostPort(Address, text))
	if err != nil {
		return false
	}
	_ = p.Close()
	return true
}
