package verdict

import (
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Until{
		"healthy":       {Healthy: true},
		"running":       {Running: untilRunning},
		"running=1m30s": {Running: 90 * time.Second},
		"running=1ns":   {Running: 1},
	} {
		u := Until{Healthy: true, Running: time.Hour} // from the config file
		if err := u.Set(text); err != nil || u != want {
			t.Errorf("%s is %+v, %v", text, u, err)
		}
	}
	for _, text := range []string{"", "Healthy", "healthy=1s", "running=", "running=0s", "running=-1s", "running=5", "ran"} {
		if err := new(Until).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// A value is shown as it is given.
func TestUntilAsText(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]Until{"": {}, "healthy": {Healthy: true}, "running=1m30s": {Running: 90 * time.Second}} {
		if got := u.String(); got != want {
			t.Errorf("%+v: %q, want %q", u, got, want)
		}
	}
	if got := new(Until).Type(); got != "running[=10s]|healthy" {
		t.Errorf("help names the value %q", got)
	}
}
