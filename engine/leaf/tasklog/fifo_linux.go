package tasklog

import "golang.org/x/sys/unix"

func (d dir) mkfifo(name string) error {
	return d.at("mkfifo", name, func(at int) error { return unix.Mkfifoat(at, name, 0o600) })
}

// fionread asks how many bytes a FIFO holds.
const fionread = unix.TIOCINQ
