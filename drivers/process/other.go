//go:build !linux

package process

import (
	"os"
	"syscall"
)

// There is no limit here that a process shows to others, so no mark.

// Mark returns nothing.
func Mark() (number uint64, claim *os.File) { return 0, nil }

// InheritMark does nothing.
func InheritMark(uint64, *os.File) bool { return false }

func marked(int) bool { return false }

func hasMark(int, uint64) bool { return false }

// ClaimMark does nothing.
func ClaimMark(uint64) (f *os.File, free bool) { return nil, true }

func (s *Spec) sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: s.Terminal, Credential: s.Credential}
}

// start starts the process.
func (s *Spec) start() (int, error) { return s.fork(s.sysProcAttr()) }
