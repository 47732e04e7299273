//go:build !linux

package keeper

import (
	"os"
)

// program is the path by which this program executes itself.
func program() (string, error) { return os.Executable() }

// setName: a process cannot change its name here.
func setName(string) {}
