//go:build !linux

package process

import (
	"os"
	"syscall"
)

// This system has no limit that is visible to others, and so no mark.

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
