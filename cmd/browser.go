package cmd

import (
	"strings"

	"taskrun/cmd/client"
)

func urlOf(p client.Port) string {
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
