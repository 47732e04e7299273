package tasklog

import "golang.org/x/sys/unix"

func (d dir) mkfifo(name string) error {
	return d.at("mkfifo", name, func(at int) error { return unix.Mkfifoat(at, name, 0o600) })
}

// fionread is the request for the number of bytes in a FIFO.
const fionread = unix.TIOCINQ
