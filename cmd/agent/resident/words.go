package resident

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"taskrun/cmd/console"
)

// Words say where clients find an agent.
type Words struct {
	console         *console.Console
	dataDir, socket string
	Address, Token  string // of the port
}

// NewWords returns the words of an agent without a port.
func NewWords(c *console.Console, dataDir, socket string) *Words {
	return &Words{console: c, dataDir: dataDir, socket: socket}
}

// TokenFile returns the file with the token, or "".
func (w *Words) TokenFile() string {
	if w.Token == "" {
		return ""
	}
	return filepath.Join(w.dataDir, "agent", "token")
}

// Places returns lines with the places of an agent.
func (w *Words) Places() string {
	var text strings.Builder
	for _, line := range [][2]string{{"address", w.url()}, {"socket", w.socket}, {"data", w.dataDir}, {"token", w.TokenFile()}} {
		if line[1] != "" {
			fmt.Fprintf(&text, "%-8s %s\n", line[0], line[1])
		}
	}
	return text.String()
}

// url returns the address of the port for clients, or "".
func (w *Words) url() string {
	if w.Address == "" {
		return ""
	}
	return "http://" + w.Address
}

// Write shows the addresses of the agent, and the variables to export for Nomad's
// tools. It shows the token itself only on a terminal.
func (w *Words) Write() {
	addr := cmp.Or(w.url(), "unix://"+w.socket)
	export := "export NOMAD_ADDR=" + addr
	switch {
	case w.Token == "":
	case w.console.Streams.ErrTerm:
		export += " NOMAD_TOKEN=" + w.Token
	default:
		export += fmt.Sprintf(" NOMAD_TOKEN=$(cat %s)", console.ShellWord(w.TokenFile()))
	}
	fmt.Fprintf(w.console.Streams.Err, "%sFor Nomad's tools:\n  %s\n", w.Places(), export)
}
