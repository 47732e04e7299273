package safedir

import (
	"os"
	"testing"
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
