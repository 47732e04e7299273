package cmd

import (
	"fmt"
	"os"
	"strings"

	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/jobspec/visible"
)

// interrupted takes in a signal. On a terminal Ctrl-C asks what to do; without
// one, and for any other signal, the jobs are left alone. A second one leaves
// at once.
func (r *clusterRun) interrupted(sig os.Signal) {
	if d := r.verdict.Signal(sig, stopSignals[sig]); d.Action == verdict.Ask {
		r.run.Hold()
		r.ask(r.streams, fmt.Sprintf("stop %s in the cluster (s), leave it running (l), or go on watching (Enter)? ", strings.Join(r.ids(), ", ")))
		return
	}
	r.leaveFor(silent(r.verdict.Left()))
}

// answered takes in what the user wants.
func (r *clusterRun) answered(answer string) {
	if !r.open {
		return // it was left meanwhile
	}
	d := r.verdict.Answer(answer)
	r.forget()
	if d.Action == verdict.Leave {
		r.leaveFor(silent(r.verdict.Left()))
		return
	}
	r.obey(d)
}

// forget closes the question, and shows what happened meanwhile.
func (r *clusterRun) forget() {
	if r.open {
		r.open = false
		r.run.Resume()
	}
}

// question is what a user on a terminal was asked.
type question struct {
	open    bool
	answers chan string
}

// ask asks. The answer comes while other things go on: a read of a terminal
// cannot be broken off, so that one reader serves all questions.
func (q *question) ask(s *ui.Streams, text string) {
	fmt.Fprintf(s.Err, "\r%s", visible.String(text))
	q.open = true
	if q.answers == nil {
		q.answers = make(chan string)
		go func() {
			for {
				line, err := s.ReadLine()
				if err != nil {
					line = "l" // there will be no answer
				}
				q.answers <- line
				if err != nil {
					return
				}
			}
		}()
	}
}
