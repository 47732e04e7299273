package console

import (
	"slices"
	"testing"

	"taskrun/cmd/client"
)

func TestBrowserOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variable, system string
		want             []string
	}{
		{"", "linux", []string{"xdg-open"}},
		{"", "darwin", []string{"open"}},
		{" firefox  --new-window ", "darwin", []string{"firefox", "--new-window"}},
	} {
		if got := browserOf(c.variable, c.system); !slices.Equal(got, c.want) {
			t.Errorf("browserOf(%q, %q) = %q, want %q", c.variable, c.system, got, c.want)
		}
	}
}

func TestURLOf(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]client.Port{
		"http://127.0.0.1:8080/":     {Label: "http", Host: "127.0.0.1", Port: 8080},
		"https://192.0.2.1:8443/":    {Label: "https", Host: "192.0.2.1", Port: 8443},
		"https://192.0.2.1:443/":     {Label: "web", Host: "192.0.2.1", Port: 443},
		"http://[2001:db8::1]:8080/": {Label: "http", Host: "2001:db8::1", Port: 8080},
		"http://localhost:8080/":     {Label: "http", Host: "0.0.0.0", Port: 8080},
	} {
		if got := URLOf(p); got != want {
			t.Errorf("URLOf(%+v) = %q, want %q", p, got, want)
		}
	}
}
