package process

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// markOf returns the mark of a process.
func markOf(pid int) uint64 {
	var limit unix.Rlimit
	_ = unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, nil, &limit)
	return limit.Max
}

// leave returns a script that leaves a process without evidence of its task
// behind. When the script ends, that process exists and has run the commands.
func leave(commands string) string {
	return fmt.Sprintf(`exec 3>&1; (setsid env -i PATH="$PATH" /bin/sh -c "exec 4>&1 >&3; %s
		echo >&4; exec sleep 1000" &) | read line`, commands)
}

// Shutdown finds processes that have left their session, cleared their environment
// and lost their parent, and recognizes when none are left.
func TestShutdown(t *testing.T) {
	t.Parallel()
	stray := ": ends\n" + leave("")
	for name, c := range map[string]struct {
		scripts []string
		killed  string
	}{
		"nothing left":  {[]string{": ends\n:", helper}, "0 <nil>"},
		"no helper":     {[]string{": ends\n:"}, "0 <nil>"},
		"stray":         {[]string{stray}, "1 <nil>"},
		"strays":        {[]string{stray, helper, stray, stray}, "3 <nil>"},
		"tree of stray": {[]string{": ends\n" + leave("setsid env -i sleep 1000 & sleep 1000 & sleep 1000 &")}, "4 <nil>"},
		"running":       {[]string{"exec sleep 1000"}, "1 <nil>"},
		"several":       {[]string{stray, "exec sleep 1000"}, "2 <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startEngine(t, c.scripts...)
			e.line(t, "started")
			fmt.Fprintln(e.in)
			if only := e.line(t, "helpers only "); only != fmt.Sprint(c.killed == "0 <nil>") {
				t.Errorf("it has helpers only: %s", only)
			}
			if killed := e.line(t, "killed "); killed != c.killed {
				t.Errorf("it killed %s, not %s", killed, c.killed)
			}
		})
	}
}

// Strays that fork continuously are found.
func TestShutdownWhileForking(t *testing.T) {
	t.Parallel()
	e := startEngine(t, ": ends\n"+
		leave(`i=0; while [ \$i -lt 300 ]; do (setsid sleep 1000 &); i=\$((i+1)); done`))
	e.line(t, "started")
	t.Log("killed", e.shutdown(t))
}

// Shutdown spares processes that are not of its run: the user's other
// processes, those of another run, children of other parts of its own program,
// and the program that started it.
func TestShutdownSparesOthers(t *testing.T) { // not parallel: children of runs in this program would have the mark
	users := exec.Command("sleep", "1000")
	users.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	neighbor := exec.Command("sleep", "1000")
	for _, cmd := range []*exec.Cmd{users, neighbor} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
	}
	other := startEngine(t, "exec sleep 1000", ": ends\n"+leave(""))
	other.line(t, "started")
	e := startEngine(t, ": ends\n"+leave(""))
	e.line(t, "started")
	if killed := e.shutdown(t); killed != "1 <nil>" {
		t.Errorf("it killed %s", killed)
	}
	for _, cmd := range []*exec.Cmd{users, neighbor, other.cmd} {
		if p, ok := stat(cmd.Process.Pid); !ok || p.ended {
			t.Errorf("process %v does not live any more", cmd.Args)
		}
	}
	if killed := other.shutdown(t); killed != "2 <nil>" {
		t.Errorf("of the other run were killed %s", killed)
	}
}

// A run inside a run has its own, lower mark, and ends with the outer one.
func TestRunInsideRun(t *testing.T) {
	t.Parallel()
	inner := fmt.Sprintf("exec env %s=engine %s 'exec sleep 1000' ': ends\n%s' <&-", roleVar, program(t), leave(""))
	e := startEngine(t, inner)
	marks := map[int]uint64{}
	for range 2 {
		var pid int
		var mark uint64
		if _, err := fmt.Sscan(e.line(t, "started "), &pid, &mark); err != nil {
			t.Fatal(err)
		}
		marks[pid] = mark
	}
	outer := marks[e.cmd.Process.Pid]
	delete(marks, e.cmd.Process.Pid)
	for _, mark := range marks {
		if mark >= outer {
			t.Errorf("the mark %d of the inner run is not lower than the outer's, %d", mark, outer)
		}
	}
	e.shutdown(t)
}

// Parallel runs have different marks, which their processes inherit.
func TestMarksDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 5 {
		e := startEngine(t, `echo task $(sed -n 's/Max msgqueue size *[0-9]* *\([0-9]*\).*/\1/p' /proc/self/limits)`)
		number := map[string]string{}
		for range 2 {
			line := e.line(t, "")
			words := strings.Fields(line)
			number[words[0]] = words[len(words)-1]
		}
		if number["task"] == "" || number["task"] != number["started"] {
			t.Errorf("the marks are %v", number)
		}
		if seen[number["task"]] {
			t.Errorf("the mark %s is there twice", number["task"])
		}
		seen[number["task"]] = true
	}
}

// The mark is found on a process without any other relation.
func TestMarked(t *testing.T) {
	t.Parallel()
	p := start(t, "echo ready; exec sleep 1000")
	p.await(t, "ready")
	if !marked(p.id.PID) {
		t.Error("a process that was started does not carry the mark")
	}
	if marked(os.Getppid()) {
		t.Error("the parent of this program carries the mark")
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Gone()
}

// Orphans are reaped without a Wait.
func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	p := start(t, `(setsid sh -c 'echo $$; exec sleep 0' &); exec sleep 1000`)
	var orphan int
	if _, err := fmt.Fscanln(p.out, &orphan); err != nil {
		t.Fatal(err)
	}
	first, _ := stat(orphan)
	limit := time.After(patience)
	for {
		news, _ := reaper.news()
		if now, ok := stat(orphan); !ok || now.ID != first.ID {
			break
		}
		select {
		case <-news:
		case <-limit:
			t.Fatal("the orphan is still a zombie")
		}
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Gone()
}
