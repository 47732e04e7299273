package fold

// Counts are numbers of tasks by their state. Tasks whose allocation was replaced
// do not count, nor do poststop tasks that wait for the end of the others.
type Counts struct {
	Running  int
	Starting int // pending: before their first start, or between two
	Ended    int // without a failure
	Failed   int // for good
}

// Counts counts the tasks of the run.
func (r *Run) Counts() (c Counts) {
	for _, a := range r.Final() {
		for _, t := range a.Tasks {
			switch {
			case t.State == "running":
				c.Running++
			case t.Failed:
				c.Failed++
			case t.State == "dead":
				c.Ended++
			case !t.Poststop():
				c.Starting++
			}
		}
	}
	return c
}
