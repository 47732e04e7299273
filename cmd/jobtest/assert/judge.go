// Package assert judges runs of job tests: it evaluates the conditions of a run
// against its outcome. It is pure: conditions and an outcome in, failures out.
package assert

import "taskrun/cmd/jobtest"

// Judge returns why a run has failed; nothing if it passed. A run fails
//
//   - if it was ended before it had ended or reached its until;
//   - if the condition of an assertion is false, has an error, or is no bool;
//   - if something that expect_failures names has not failed;
//   - if it has neither assertions nor a snapshot: if an allocation has failed, or
//     the exit code is not 0, unless expect_failures names what has failed.
//
// Of no value it shows more than a few words, and of no secret any. A run must not be
// judged by several goroutines at once.
func Judge(run *jobtest.Run, o *jobtest.Outcome) []Failure {
	v := newView(run, o)
	var all []Failure
	if o.Unfinished != "" {
		all = append(all, v.hide.failure(run.Range, "the run was ended", o.Unfinished))
	}
	for _, a := range run.Asserts {
		if f := v.judge(a); f != nil {
			all = append(all, *f)
		}
	}
	all = append(all, v.expected()...)
	if len(run.Asserts) == 0 && run.Snapshot == "" && len(all) == 0 {
		all = append(all, v.unexpected()...)
	}
	return all
}
