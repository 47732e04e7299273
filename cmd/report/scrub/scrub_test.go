package scrub_test

import (
	"testing"

	"taskrun/cmd/report/scrub"
)

func TestText(t *testing.T) {
	t.Parallel()
	const id = "0b2a9a52-9c2f-4d39-8d5e-5b8f0c2f7d11"
	for _, c := range []struct{ text, want string }{
		{"Task received by client", "Task received by client"},
		{"open /data/jobs/web/alloc/" + id + "/server/local/a:\nno such file; see " + id, "open ALLOC_DIR/server/local/a: no such file; see ID"},
		{"Exit Code: 137, Signal: 9", "Exit Code: 137, Signal: 9"},
		{"dial tcp 127.0.0.1:23456: refused", "dial tcp 127.0.0.1:PORT: refused"},
		{"read tcp [::1]:45678->[::1]:8080: reset", "read tcp [::1]:PORT->[::1]:8080: reset"},
		{"at 2026-01-02T03:04:05.6Z", "at TIME"},
		{"at 2026-01-02 03:04:05 +0100", "at TIME"},
		{"web/dispatch-1767225600-0b2a9a52 of web/periodic-1767225600", "web/dispatch-N of web/periodic-N"},
		{"process with PID 4711 ended; pid=12", "process with PID N ended; pid=N"},
		{"Memory peaked at 12 MiB: would have been OOM-killed at 10 MiB", "Memory peaked at N MiB: would have been OOM-killed at 10 MiB"},
	} {
		got := scrub.Text(c.text)
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
		if again := scrub.Text(got); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	}
}

func TestOwn(t *testing.T) {
	t.Parallel()
	const id = "0b2a9a52-9c2f-4d39-8d5e-5b8f0c2f7d11"
	for _, c := range []struct{ text, want string }{
		{"app-0b2a9a52 of " + id, "app-ID of ID"},
		{"listen 23456", "listen PORT"},
		{"listen 8080 or 23457", "listen 8080 or 23457"},
	} {
		if got := scrub.Own(id, []int{8080, 23456}).Replace(scrub.Text(c.text)); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// IDs leaves times, ports and numbers, which may differ for a reason. Lines keeps
// the lines, which are part of a file.
func TestIDsAndLines(t *testing.T) {
	t.Parallel()
	const text = "at 2026-01-02T03:04:05Z\n\tof /data/0b2a9a52-9c2f-4d39-8d5e-5b8f0c2f7d11/x :23456\n"
	for name, c := range map[string]struct{ got, want string }{
		"IDs":   {scrub.IDs(text), "at 2026-01-02T03:04:05Z of ALLOC_DIR/x :23456"},
		"Lines": {scrub.Lines(text), "at TIME\n\tof ALLOC_DIR/x :PORT\n"},
		"Text":  {scrub.Text(text), "at TIME of ALLOC_DIR/x :PORT"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}

// Static ports are chosen by the job, and are no chance: only ports in the range
// that Nomad draws from are replaced.
func TestPorts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		":19999": ":19999", ":20000": ":PORT", ":32000": ":PORT", ":65535": ":PORT", ":66000": ":66000", ":2000": ":2000", ":200000": ":200000",
	} {
		if got := scrub.Text(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
	if got := scrub.Own("short", []int{19999, 20000}).Replace("short 19999 20000"); got != "ID 19999 PORT" {
		t.Errorf("of an allocation: %q", got)
	}
}
