package cmd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"taskrun/cmd/console"
)

// agentWords say where clients find an agent.
type agentWords struct {
	console         *console.Console
	dataDir, socket string
	address, token  string // of the port
}

func newAgentWords(c *console.Console, dataDir, socket string) *agentWords {
	return &agentWords{console: c, dataDir: dataDir, socket: socket}
}

// tokenFile returns the file with the token, or "".
func (w *agentWords) tokenFile() string {
	if w.token == "" {
		return ""
	}
	return filepath.Join(w.dataDir, "agent", "token")
}

// places returns lines with the places of an agent.
func (w *agentWords) places() string {
	var text strings.Builder
	for _, line := range [][2]string{{"address", w.url()}, {"socket", w.socket}, {"data", w.dataDir}, {"token", w.tokenFile()}} {
		if line[1] != "" {
			fmt.Fprintf(&text, "%-8s %s\n", line[0], line[1])
		}
	}
	return text.String()
}

func (w *agentWords) url() string {
	if w.address == "" {
		return ""
	}
	return "http://" + w.address
}

// write says where clients find the agent, and what to export for Nomad's tools.
// The token itself is shown on a terminal only.
func (w *agentWords) write() {
	addr := cmp.Or(w.url(), "unix://"+w.socket)
	export := "export NOMAD_ADDR=" + addr
	switch {
	case w.token == "":
	case w.console.Streams.ErrTerm:
		export += " NOMAD_TOKEN=" + w.token
	default:
		export += fmt.Sprintf(" NOMAD_TOKEN=$(cat %s)", shellWord(w.tokenFile()))
	}
	fmt.Fprintf(w.console.Streams.Err, "%sFor Nomad's tools:\n  %s\n", w.places(), export)
}
