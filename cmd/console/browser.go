package console

import (
	"context"
	"os/exec"
	"runtime"
	"strings"

	"taskrun/cmd/client"
)

// URLOf returns the address of a port for a browser.
func URLOf(p client.Port) string {
	scheme := "http"
	if p.Label == "https" || p.Port == 443 {
		scheme = "https"
	}
	return scheme + "://" + p.Address() + "/"
}

// browserOf returns the command that opens an address: that of $BROWSER, or of the
// desktop of a system.
func browserOf(variable, system string) []string {
	if words := strings.Fields(variable); len(words) > 0 {
		return words
	}
	if system == "darwin" {
		return []string{"open"}
	}
	return []string{"xdg-open"}
}

// Browser returns the command that opens an address in the browser of the user.
func (c *Console) Browser(ctx context.Context, url string) *exec.Cmd {
	words := browserOf(c.Streams.Env("BROWSER"), runtime.GOOS)
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], url)...)
	cmd.Env = c.Environ
	return cmd
}
