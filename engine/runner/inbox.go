package runner

// inbox carries the reports of tasks and hooks, as functions, to the goroutine of
// their allocation.
type inbox struct {
	reports chan func()
	over    chan struct{}   // closed after the last read of the inbox
	durable bool            // changes of a report are stored
	asked   []chan struct{} // closed at the end of the turn
}

// ask makes the owner run f, and waits for the end of the turn. If it returns
// false, the allocation is over and f did not run.
func (in *inbox) ask(f func()) bool {
	done := make(chan struct{})
	select {
	case in.reports <- func() { f(); in.asked = append(in.asked, done) }:
		<-done
		return true
	case <-in.over:
		return false
	}
}

// post makes the owner run f, and returns once its changes are stored. If the
// allocation is over, f does not run.
func (in *inbox) post(f func()) {
	if in.durable {
		in.ask(f)
		return
	}
	select {
	case in.reports <- f:
	case <-in.over:
	}
}

// answer ends the turn for those that have asked.
func (in *inbox) answer() {
	for _, done := range in.asked {
		close(done)
	}
	in.asked = in.asked[:0]
}
