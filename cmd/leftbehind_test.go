package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// journeyVar is in the environment of everything that a journey starts, unless that
// clears it.
const journeyVar = "JOURNEYS_OF"

// leftBehind returns the processes of journeys that outlive a time limit, on systems
// with /proc.
func leftBehind(limit time.Duration) (left []string) {
	mark := fmt.Appendf(nil, "%s=%d\x00", journeyVar, os.Getpid())
	for deadline := time.Now().Add(limit); ; <-time.After(50 * time.Millisecond) {
		left = nil
		processes, _ := filepath.Glob("/proc/[0-9]*")
		for _, dir := range processes {
			env, _ := os.ReadFile(dir + "/environ")
			if !bytes.Contains(env, mark) {
				continue
			}
			line, _ := os.ReadFile(dir + "/cmdline")
			at, _ := os.Readlink(dir + "/cwd")
			left = append(left, fmt.Sprintf("%s: %q in %s", filepath.Base(dir), line, at))
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}
