package allocdir

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestIsMapped(t *testing.T) {
	t.Parallel()
	for table, want := range map[string]bool{
		"         0          0 4294967295\n": true,
		"0 1000 1\n":                         false,
		"0 1000 1\n1 100000 65535\n":         true,
		"0 1000 1\n1 100000 65534\n":         true,
		"0 1000 1\n1 100000 65533\n":         false,
		"65534 1 1\n":                        true,
		"65535 1 9\n":                        false,
		"0 1000 x\n":                         true,
		"0 1000\n":                           true,
		"":                                   false,
	} {
		if got := isMapped(table, 65534); got != want {
			t.Errorf("%q: %t, want %t", table, got, want)
		}
	}
	if isUnmapped(os.Geteuid()) {
		t.Error("the user of the tests is not one that the user namespace does not know")
	}
}

// A volume whose parent cannot be opened is an error. The limit is for the whole
// process.
func TestVolumeWithoutDescriptors(t *testing.T) { //nolint:paralleltest // see above
	const key = "ALLOCDIR_WITHOUT_DESCRIPTORS"
	dir := os.Getenv(key)
	if dir == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestVolumeWithoutDescriptors$", "-test.v")
		cmd.Env = append(os.Environ(), key+"="+t.TempDir())
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
