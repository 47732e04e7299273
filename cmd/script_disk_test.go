package cmd

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"
)

// disk is the script command
//
//	disk DIR SIZE   mount an empty disk of SIZE KiB until the end of the script
func disk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: disk DIR SIZE")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(mountDisk(dir, args[1]))
	ts.Defer(func() { _ = exec.Command("umount", "-l", dir).Run() })
}

func mountDisk(dir, kib string) error {
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=0755,size="+kib+"k", "tmpfs", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot mount a disk at %q: %w: %s", dir, err, out)
	}
	return nil
}

// canMount reports whether this user may mount a disk, as root may unless a
// container prevents it.
func canMount() bool {
	dir, err := os.MkdirTemp("", "disk")
	if err != nil {
		return false
	}
	defer os.Remove(dir)
	return mountDisk(dir, "64") == nil && exec.Command("umount", dir).Run() == nil
}
