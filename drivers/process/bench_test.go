package process

import (
	"os/exec"
	"testing"
)

// BenchmarkStart measures a process from its start to its end; BenchmarkExec
// does the same with package os/exec.
func BenchmarkStart(b *testing.B) {
	run := newRun(b)
	for b.Loop() {
		p, err := run.Start(Spec{Path: "/bin/true", Dir: "/"})
		if err != nil {
			b.Fatal(err)
		}
		<-p.Gone()
	}
}

func BenchmarkExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkThousand starts and kills a thousand concurrent processes.
func BenchmarkThousand(b *testing.B) {
	run := newRun(b)
	for b.Loop() {
		procs := make([]*Process, 1000)
		for i := range procs {
			p, err := run.Start(Spec{Path: "/bin/sleep", Args: []string{"1000"}, Dir: "/"})
			if err != nil {
				b.Fatal(err)
			}
			procs[i] = p
		}
		for _, p := range procs {
			if err := p.Kill(); err != nil {
				b.Fatal(err)
			}
		}
		for _, p := range procs {
			<-p.Gone()
		}
	}
}

func BenchmarkExecThousand(b *testing.B) {
	for b.Loop() {
		cmds := make([]*exec.Cmd, 1000)
		for i := range cmds {
			cmds[i] = exec.Command("/bin/sleep", "1000")
			if err := cmds[i].Start(); err != nil {
				b.Fatal(err)
			}
		}
		for _, cmd := range cmds {
			cmd.Process.Kill()
		}
		for _, cmd := range cmds {
			cmd.Wait()
		}
	}
}
