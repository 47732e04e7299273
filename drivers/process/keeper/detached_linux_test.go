package keeper

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"taskrun/drivers/process"
)

// patience limits every wait.
const patience = time.Minute

func TestMain(m *testing.M) {
	if Main(cleaner) {
		return
	}
	var err error
	switch os.Getenv("TASKRUN_TEST_ROLE") {
	case "":
		goleak.VerifyTestMain(m)
	case "program":
		err = program2(os.Args[1])
	case "foreground":
		err = foreground(os.Args[1])
	case "idle":
		_, err = io.ReadAll(os.Stdin)
	}
	if err != nil {
		fmt.Println("error", err)
	}
}

// runVar makes the allocation ID of a program's tasks unique, so that no program
// of another test takes them for its own.
const runVar = "TASKRUN_TEST_RUN"

func runOf(dir string) string { return runVar + "=" + strings.ReplaceAll(dir, "/", "-") }

func environOf(task string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "NOMAD_ALLOC_ID=alloc" + os.Getenv(runVar), "NOMAD_TASK_NAME=" + task}
}

// program2 is the program of a detached run. It executes commands from a pipe:
//
//	start TASK SCRIPT   fork  TASK SCRIPT, which dies before it is recorded
//	over                hold NAME
//	keep TASK SCRIPT, which starts a process with Kept
//
// and reports what happens. At its start it adopts existing processes.
func program2(commands string) error {
	run, w := process.NewRun(), New()
	resumed, err := w.Resumed()
	if err != nil {
		return err
	}
	w.Begin("", func(text string) { fmt.Println("notice", text) })
	tell := func(p *process.Process, task string) {
		<-p.Gone()
		status, _ := p.Status()
		fmt.Println("ended", task, status.ExitCode, status.Signal)
	}
	in, err := os.OpenFile(commands, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	fmt.Println("instance", os.Getpid(), resumed)
	fmt.Println("world", surroundings())
	for _, task := range []string{"a", "b", "c"} {
		id, err := process.Find(environOf(task))
		if err != nil {
			continue
		}
		p, err := run.Adopt(process.Adoption{ID: id, Env: environOf(task)})
		if err != nil {
			return err
		}
		fmt.Println("adopted", task, id.PID)
		go tell(p, task)
	}
	fmt.Println("settled", process.Settle(), w.Held("file") != nil)
	if os.Getenv("TASKRUN_TEST_FAILS") != "" {
		return w.Stands("", fmt.Errorf("it does not want to"))
	}
	if err := w.Stands("as wanted", nil); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		command, rest, _ := strings.Cut(lines.Text(), " ")
		task, script, _ := strings.Cut(rest, " ")
		spec := process.Spec{Path: "/bin/sh", Args: []string{"-c", script}, Env: environOf(task), Dir: "/", Stdout: os.Stdout, Stderr: os.Stdout}
		switch command {
		case "start", "keep":
			spec.Kept = command == "keep"
			p, err := run.Start(spec)
			if err != nil {
				return err
			}
			fmt.Println("started", task, p.Pid())
			go tell(p, task)
		case "fork":
			process.SetJournal(dying{w, task})
			_, err := run.Start(spec)
			return err
		case "hold":
			if err := w.Hold(task, in); err != nil {
				return err
			}
			fmt.Println("held")
		case "wait":
			calls, err := os.OpenFile(task, os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			keeper, err := w.Await(calls)
			fmt.Println("waits", keeper.PID, keeper.Start, err)
			return nil
		case "over":
			killed, err := run.Shutdown(context.Background())
			fmt.Println("over", killed, err, w.Close(true))
			return nil
		}
	}
	return nil
}

// surroundings describes the environment of a program at its start: its name and
// directory, and everything that its tasks would inherit from the keeper.
func surroundings() string {
	name, _ := os.ReadFile("/proc/self/comm")
	dir, _ := os.Getwd()
	words := []string{strings.TrimSpace(string(name)), dir}
	for _, entry := range os.Environ() {
		if strings.HasPrefix(entry, "TASKRUN_KEEPER") {
			words = append(words, entry)
		}
	}
	for fd := 3; fd < 100; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			words = append(words, fmt.Sprint("fd", fd))
		}
	}
	return strings.Join(words, " ")
}

// dying is the journal of a program that dies before a process is recorded.
type dying struct {
	*Watch
	task string
}

func (d dying) Intend(tag string) process.Entry {
	d.Watch.Intend(tag)
	return d
}

func (d dying) Started(id process.ID) {
	fmt.Println("started", d.task, id.PID)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (dying) Remove() {}

// detached is a run of program2.
type detached struct {
	dir      string
	commands *os.File
	read     *bufio.Reader
	heard    []string // reports that no test has read yet
	program  int
}

func detach(t *testing.T, env ...string) (*detached, error) {
	t.Helper()
	d := &detached{dir: t.TempDir()}
	for _, name := range []string{"commands", "a", "b"} {
		if err := syscall.Mkfifo(d.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(d.path("work"), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if d.commands, err = os.OpenFile(d.path("commands"), os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	read, log, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d.read = bufio.NewReader(read)
	if err := read.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	words, err := Detach(Detached{
		Args: []string{d.path("commands")},
		Env: append(env, "PATH="+os.Getenv("PATH"), "TASKRUN_TEST_ROLE=program",
			runOf(d.dir), "GORACE=atexit_sleep_ms=0"),
		Dir: d.path("work"), Log: log, RecordDir: d.dir,
	})
	log.Close()
	if err == nil && words != "as wanted" {
		t.Errorf("the program said %q", words)
	}
	t.Cleanup(func() {
		d.commands.Close()
		defer read.Close()
		if t.Failed() {
			_ = syscall.Kill(d.program, syscall.SIGKILL)
			return
		}
		// All processes with it have ended.
		if rest, err := io.ReadAll(d.read); err != nil {
			t.Errorf("somebody lives: %v, %s", err, rest)
		}
		for deadline := time.Now().Add(patience); ; <-time.After(time.Millisecond) {
			left, _ := filepath.Glob(d.path("*.run"))
			if len(left) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("left behind: %v", left)
				break
			}
		}
	})
	return d, err
}

func (d *detached) path(name string) string { return filepath.Join(d.dir, name) }

// line returns the words of the next line with the given beginning.
func (d *detached) line(t *testing.T, beginning string) []string {
	t.Helper()
	for i := 0; ; i++ {
		if i == len(d.heard) {
			line, err := d.read.ReadString('\n')
			if err != nil {
				t.Fatalf("no line %q came: %v", beginning, err)
			}
			t.Logf("%s", line)
			d.heard = append(d.heard, line)
		}
		if words := strings.Fields(d.heard[i]); len(words) > 0 && words[0] == beginning {
			d.heard = slices.Delete(d.heard, i, i+1)
			if beginning == "instance" {
				d.program, _ = strconv.Atoi(words[1])
			}
			return words[1:]
		}
	}
}

func (d *detached) say(t *testing.T, command string) {
	t.Helper()
	if _, err := d.commands.WriteString(command + "\n"); err != nil {
		t.Fatal(err)
	}
}

func (d *detached) must(t *testing.T, beginning string, want ...string) {
	t.Helper()
	if got := d.line(t, beginning); !slices.Equal(got, want) {
		t.Fatalf("%s %v, not %v", beginning, got, want)
	}
}

func (d *detached) kill(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(d.program, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// stand detaches a run and waits until it has started.
func stand(t *testing.T) *detached {
	t.Helper()
	d, err := detach(t)
	if err != nil {
		t.Fatal(err)
	}
	d.line(t, "instance")
	d.must(t, "settled", "0", "false")
	return d
}

// When the program dies its tasks stay alive; the next instance adopts them,
// and learns how they end, including those that ended in between. It has the
// held files.
func TestTasksOutliveTheProgram(t *testing.T) {
	t.Parallel()
	d := stand(t)
	d.must(t, "world", "taskrun", d.path("work"))
	d.say(t, "hold file")
	d.line(t, "held")
	d.say(t, "start a read x <"+d.path("a")+"; exit 5")
	d.say(t, "start b read x <"+d.path("b")+"; exit 6")
	a := d.line(t, "started")[1]
	d.line(t, "started")
	d.kill(t)
	write(t, d.path("b"))
	d.line(t, "instance")
	d.must(t, "world", "taskrun", d.path("work"))
	d.must(t, "adopted", "a", a)
	d.line(t, "adopted")
	d.must(t, "settled", "0", "true")
	d.must(t, "ended", "b", "6", "0")
	d.kill(t)
	d.line(t, "instance")
	d.must(t, "adopted", "a", a)
	d.say(t, "start c exit 7")
	d.must(t, "ended", "c", "7", "0")
	write(t, d.path("a"))
	d.must(t, "ended", "a", "5", "0")
	d.say(t, "over")
	d.must(t, "over", "0", "<nil>", "<nil>")
}

// A keeper that waits keeps the tasks, and starts the program with another call when
// it is woken.
func TestKeeperWaits(t *testing.T) {
	t.Parallel()
	d := stand(t)
	d.must(t, "world", "taskrun", d.path("work"))
	d.say(t, "start a read x <"+d.path("a")+"; exit 5")
	a := d.line(t, "started")[1]
	calls := d.path("call")
	d.say(t, "wait "+calls)
	words := d.line(t, "waits")
	pid, _ := strconv.Atoi(words[0])
	start, _ := strconv.ParseUint(words[1], 10, 64)
	keeper := process.ID{PID: pid, Start: start}
	if !keeper.Running() {
		t.Fatalf("no keeper: %q", words)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	err = Wake(keeper, calls, path, Detached{
		Args: []string{d.path("commands")}, Dir: "/",
		Env: []string{"PATH=" + os.Getenv("PATH"), "TASKRUN_TEST_ROLE=program", runOf(d.dir), "GORACE=atexit_sleep_ms=0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.line(t, "instance")
	d.must(t, "world", "taskrun", "/")
	d.must(t, "adopted", "a", a)
	d.must(t, "settled", "0", "false")
	write(t, d.path("a"))
	d.must(t, "ended", "a", "5", "0")
	d.say(t, "over")
	d.must(t, "over", "0", "<nil>", "<nil>")
	if err := Wake(process.ID{PID: pid, Start: start + 1}, calls, path, Detached{}); err == nil {
		t.Error("another process was woken")
	}
}

// write lets a task that reads from a named pipe continue.
func write(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; <-time.After(time.Millisecond) { // until it was read
		n, err := pending(f)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("nobody reads: %v", err)
		}
		if n == 0 {
			return
		}
	}
}

func pending(f *os.File) (int, error) { return unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ) }

// A process that was forked and not recorded is found by its environment, or
// because it is the only candidate.
func TestIntendedProcessIsFound(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"running": "sleep 1000", "replaced": "exec env -i sleep 1000", "ended": "exit 3",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := stand(t)
			d.say(t, "start a sleep 1000")
			d.line(t, "started")
			d.say(t, "fork b "+script)
			b := d.line(t, "started")[1]
			d.line(t, "adopted")
			d.must(t, "adopted", "b", b)
			d.must(t, "settled", "0", "false")
			if name == "ended" {
				d.must(t, "ended", "b", "3", "0")
			}
			d.say(t, "over")
			d.line(t, "over")
		})
	}
}

// A process that is not adopted is killed, with its descendants.
func TestSettle(t *testing.T) {
	t.Parallel()
	d := stand(t)
	d.say(t, "start z setsid sleep 1000 & sleep 1000")
	d.line(t, "started")
	d.kill(t)
	d.line(t, "instance")
	d.must(t, "settled", "1", "false")
	d.say(t, "over")
	d.line(t, "over")
}

// Descendants of an adopted process are killed when it ends.
func TestTreeOfAdopted(t *testing.T) {
	t.Parallel()
	d := stand(t)
	d.say(t, "start a (setsid sleep 1000 &); read x <"+d.path("a")+"; exit 4")
	d.line(t, "started")
	d.kill(t)
	d.line(t, "adopted")
	d.line(t, "settled")
	write(t, d.path("a"))
	d.must(t, "ended", "a", "4", "0")
	d.say(t, "over")
	d.must(t, "over", "0", "<nil>", "<nil>")
}

// A program that dies repeatedly is given up, and everything is killed.
func TestProgramIsGivenUp(t *testing.T) {
	t.Parallel()
	d := stand(t)
	d.say(t, "start a setsid env -i sleep 1000 & sleep 1000")
	d.line(t, "started")
	for range maxDeaths - 1 {
		d.kill(t)
		d.line(t, "instance")
		d.line(t, "settled")
		d.say(t, "hold file")
		d.line(t, "held")
	}
	d.kill(t)
	if said := strings.Join(d.line(t, "taskrun:"), " "); !strings.Contains(said, "the run was killed, for its program cannot be started again: it died 5 times in a row") {
		t.Errorf("the log says %q", said)
	}
}

// A program that cannot be executed again is given up as well.
func TestProgramCannotBeExecutedAgain(t *testing.T) {
	t.Parallel()
	d := stand(t)
	d.say(t, "start a setsid env -i sleep 1000 & sleep 1000")
	d.line(t, "started")
	if err := os.Remove(d.path("work")); err != nil {
		t.Fatal(err)
	}
	d.kill(t)
	if said := strings.Join(d.line(t, "taskrun:"), " "); !strings.Contains(said, "cannot be started again: ") || !strings.Contains(said, "no such file or directory") {
		t.Errorf("the log says %q", said)
	}
}

// A program whose run fails to start is not restarted, and reports why.
func TestRunFailsToStart(t *testing.T) {
	t.Parallel()
	if _, err := detach(t, "TASKRUN_TEST_FAILS=yes"); err == nil || err.Error() != "it does not want to" {
		t.Errorf("the error is %v", err)
	}
}

// A run that cannot start reports why.
func TestRunCannotStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ dir, records, want string }{
		"directory": {"/nonexistent", private(t), "cannot start"},
		"record":    {"/", "/nonexistent", "cannot keep a record of the run"},
	} {
		log := regular(t)
		words, err := Detach(Detached{Args: []string{"x"}, Env: os.Environ(), Dir: c.dir, RecordDir: c.records, Log: log})
		if words != "" || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v", name, words, err)
		}
		if text, err := os.ReadFile(log.Name()); err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: the log says %q, %v", name, text, err)
		}
		if !noRecords(c.records)() {
			t.Errorf("%s: there is a record", name)
		}
		log.Close()
	}
}

// If a run ends without a report before it has started, the error has its log.
func TestRunEndsBeforeItHasStarted(t *testing.T) {
	t.Parallel()
	log := regular(t)
	defer log.Close()
	_, err := Detach(Detached{
		Args: []string{"/nonexistent"}, Env: append(os.Environ(), "TASKRUN_TEST_ROLE=idle"), Dir: "/", RecordDir: private(t), Log: log,
	})
	if err == nil || err.Error() != "the run ended before it had started: see its log" {
		t.Error(err)
	}
}

// When the keeper is killed the program continues with another one and its
// adopted processes: their exit status remains unknown, but not their end. If
// the program is killed, too, nothing is left.
func TestKeeperOfDetachedIsKilled(t *testing.T) {
	t.Parallel()
	d := stand(t)
	d.say(t, "start a read x <"+d.path("a")+"; exit 4")
	d.line(t, "started")
	d.kill(t)
	d.line(t, "instance")
	d.line(t, "settled")
	d.say(t, "start b setsid env -i sleep 1000 & sleep 1000")
	d.line(t, "started")
	keeper := parentOf(t, d.program)
	if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d.line(t, "notice")
	write(t, d.path("a"))
	d.must(t, "ended", "a", "-1", "0")
	d.say(t, "start c read x <"+d.path("a"))
	d.line(t, "started")
	for deadline := time.Now().Add(patience); keeperOf(d.program) == 0; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("there is no other keeper")
		}
	}
	d.kill(t)
}

func parentOf(t *testing.T, pid int) (parent int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "PPid: %d", &parent); err == nil {
			return parent
		}
	}
	t.Fatal("it has no parent")
	return 0
}

// TestEndThatWasNotStored lets a program die when a process has ended and was
// handled, but not released: the next one learns of it.
func TestEndThatWasNotStored(t *testing.T) {
	t.Parallel()
	d, err := detach(t)
	if err != nil {
		t.Fatal(err)
	}
	d.line(t, "instance")
	d.say(t, "keep a exit 7")
	pid := d.line(t, "started")[1]
	d.must(t, "ended", "a", "7", "0")
	if err := syscall.Kill(d.program, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d.line(t, "instance")
	d.must(t, "adopted", "a", pid)
	d.must(t, "ended", "a", "7", "0")
	d.say(t, "over")
	d.line(t, "over")
}
