package tasklog

import "golang.org/x/sys/unix"

// fionread asks how many bytes a FIFO holds.
const fionread = unix.TIOCINQ
