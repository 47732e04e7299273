package datadir

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/leaktest"
)

// A volume whose parent cannot be opened is an error. The limit is for the whole
// process.
func TestVolumeWithoutDescriptors(t *testing.T) { //nolint:paralleltest // see above
	const key = "DATADIR_WITHOUT_DESCRIPTORS"
	dir := os.Getenv(key)
	if dir == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestVolumeWithoutDescriptors$", "-test.v")
		cmd.Env = append(os.Environ(), key+"="+leaktest.TempDir(t))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestVolumeWithoutDescriptors") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	path, err := MakeVolume(dir, "v", nil)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err == nil {
		t.Errorf("made %q without a descriptor", path)
	}
}
