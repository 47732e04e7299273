package cmd

import (
	"fmt"
	"strings"

	"taskrun/cmd/cluster"
	"taskrun/cmd/ui"
	"taskrun/jobspec/visible"
)

// question asks the user on a terminal whether to stop jobs of a cluster, and
// keeps events back meanwhile.
type question struct {
	streams *ui.Streams
	run     *cluster.Run
	jobs    []string
	open    bool
	answers chan string
}

// Ask asks.
func (q *question) Ask() {
	q.open = true
	q.run.Hold()
	text := fmt.Sprintf("stop %s in the cluster (s), leave it running (l), or go on watching (Enter)? ", strings.Join(q.jobs, ", "))
	fmt.Fprintf(q.streams.Err, "\r%s", visible.String(text))
	if q.answers == nil {
		q.answers = make(chan string)
		go q.read()
	}
}

// read reads the answers: one reader serves all questions, for a read of a
// terminal cannot be broken off.
func (q *question) read() {
	for {
		line, err := q.streams.ReadLine()
		if err != nil {
			line = "l" // there will be no answer
		}
		q.answers <- line
		if err != nil {
			return
		}
	}
}

// Answers gets the answers to what was asked.
func (q *question) Answers() <-chan string { return q.answers }

// Close shows what happened meanwhile.
func (q *question) Close() {
	if q.open {
		q.open = false
		q.run.Resume()
	}
}
