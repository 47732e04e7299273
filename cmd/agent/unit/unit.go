// Package unit writes the files with which systemd and launchd run an agent of a
// user.
package unit

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

// Kinds are the service managers.
var Kinds = []string{"systemd", "launchd"}

// Unit is how a service manager runs an agent.
type Unit struct {
	Program string   // absolute path
	Args    []string // after "agent"
	Log     string   // file for launchd, which keeps no log itself
}

// label is the name of the agent for launchd.
const label = "dev.taskrun.agent"

// Text returns the file for a service manager. The path is where users put it.
func (u *Unit) Text(kind string) string {
	if kind == "launchd" {
		return u.launchd()
	}
	return u.systemd()
}

func (u *Unit) systemd() string {
	words := []string{systemdWord(u.Program), "agent"}
	for _, arg := range u.Args {
		words = append(words, systemdWord(arg))
	}
	return fmt.Sprintf(`# ~/.config/systemd/user/taskrun-agent.service
# systemctl --user enable --now taskrun-agent
# loginctl enable-linger makes it outlive your session.
[Unit]
Description=taskrun agent

[Service]
ExecStart=%s
Restart=on-failure
# The agent stops its tasks, with their grace periods.
KillMode=mixed
TimeoutStopSec=60

[Install]
WantedBy=default.target
`, strings.Join(words, " "))
}

// systemdWord quotes a word of a command, see systemd.service(5).
func systemdWord(word string) string {
	word = strings.NewReplacer(`%`, `%%`, `$`, `$$`).Replace(word)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@+%$", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(word) + `"`
}

func (u *Unit) launchd() string {
	var args strings.Builder
	for _, word := range slices.Concat([]string{u.Program, "agent"}, u.Args) {
		fmt.Fprintf(&args, "    <string>%s</string>\n", xmlText(word))
	}
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<!-- ~/Library/LaunchAgents/%[1]s.plist
     launchctl bootstrap gui/$UID ~/Library/LaunchAgents/%[1]s.plist -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>%[1]s</string>
  <key>ProgramArguments</key>
  <array>
%[2]s  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>60</integer>
  <key>StandardErrorPath</key>
  <string>%[3]s</string>
</dict>
</plist>
`, label, args.String(), xmlText(u.Log))
}

func xmlText(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // memory does not fail
	return b.String()
}
