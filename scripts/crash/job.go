package main

import (
	"fmt"
	"strings"
)

// want is the expected end of a task.
type want struct {
	group    string
	starts   int
	exit     int
	restarts int
	failed   bool
	lines    int    // of output, numbered
	killed   bool   // by the end of its allocation, with any code
	hook     string // of its lifecycle
	sidecar  bool
	script   string
	attempts int // of restarts
}

// tasks returns the tasks of each round, by name.
func tasks() map[string]want {
	all := map[string]want{
		"flaky":   {group: "flaky", starts: 4, restarts: 3, attempts: 3, script: `[ $(wc -l <$STARTS) -ge 4 ] || exit 9`},
		"broken":  {group: "broken", starts: 3, restarts: 2, attempts: 2, exit: 2, failed: true, script: "sleep 0.1; exit 2"},
		"suicide": {group: "suicide", starts: 1, exit: 128 + 9, failed: true, script: "sleep 0.5; kill -9 $$"},
		"pre":     {group: "life", starts: 1, hook: "prestart", script: "sleep 0.2"},
		"side":    {group: "life", starts: 1, hook: "prestart", sidecar: true, killed: true, script: "exec sleep 600"},
		"main":    {group: "life", starts: 1, script: "sleep 1.5"},
		"post":    {group: "life", starts: 1, hook: "poststart", script: "sleep 0.2"},
		"stop":    {group: "life", starts: 1, hook: "poststop", script: "sleep 0.3"},
	}
	for _, code := range []int{0, 1, 3, 7} {
		name := fmt.Sprint("code", code)
		all[name] = want{group: name, starts: 1, exit: code, failed: code != 0, script: fmt.Sprintf("sleep 0.%d; exit %d", code, code)}
	}
	for i := range 8 {
		name := fmt.Sprint("long", i)
		all[name] = want{
			group: name, starts: 1, lines: 400,
			script: "i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo line $i; [ $((i % 10)) != 0 ] || sleep 0.05; done",
		}
	}
	return all
}

// jobFile returns the job of a round, whose tasks record their starts in a
// directory.
func jobFile(starts string) string {
	var b strings.Builder
	b.WriteString("job \"crash\" {\n  type = \"batch\"\n")
	byGroup := map[string][]string{}
	for name, w := range tasks() {
		byGroup[w.group] = append(byGroup[w.group], name)
	}
	for group, names := range byGroup {
		fmt.Fprintf(&b, "  group %q {\n    reschedule {\n      attempts  = 0\n      unlimited = false\n    }\n", group)
		for _, name := range names {
			w := tasks()[name]
			file := starts + "/" + name
			script := fmt.Sprintf("STARTS=%s; echo $$ >>$STARTS; %s", file, w.script)
			fmt.Fprintf(&b, "    task %q {\n      driver = \"raw_exec\"\n      config {\n        command = \"/bin/sh\"\n        args    = [\"-c\", %q]\n      }\n", name, script)
			fmt.Fprintf(&b, "      restart {\n        attempts = %d\n        interval = \"1h\"\n        delay    = \"100ms\"\n        mode     = \"fail\"\n      }\n", w.attempts)
			if w.hook != "" {
				fmt.Fprintf(&b, "      lifecycle {\n        hook    = %q\n        sidecar = %t\n      }\n", w.hook, w.sidecar)
			}
			b.WriteString("    }\n")
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	return b.String()
}
