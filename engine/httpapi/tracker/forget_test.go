package tracker

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/engine/httpapi/feed"
	"taskrun/engine/httpapi/topic"
)

// longWait is longer than any test.
const longWait = 300 * time.Second

// newForgetful returns a tracker that follows no engine, with an evaluation of
// each job.
func newForgetful(jobs ...string) *Tracker {
	t := &Tracker{
		now: topic.First, forgotten: topic.First, indexes: map[topic.Topic]uint64{}, waiting: map[topic.Topic]*waiters{}, Feed: feed.New(),
	}
	for _, job := range jobs {
		t.now++
		t.keepEvaluation("evaluation-of-"+job, job, TriggerRegister, "JobRegistered")
		t.flush()
	}
	return t
}

// A query that waits for a change of an evaluation, of those of a job, or of
// all, is answered at once when one is forgotten, and so is one that comes
// later with the index of an earlier answer.
func TestForgottenEvaluationsWake(t *testing.T) {
	t.Parallel()
	for _, name := range []topic.Topic{topic.Evaluation("evaluation-of-gone"), topic.JobEvaluations("gone"), topic.Evaluations("")} {
		synctest.Test(t, func(t *testing.T) {
			tr := newForgetful("gone", "stays")
			defer tr.Feed.End()
			began, after := time.Now(), tr.Index(name)
			woken := make(chan uint64, 1)
			go func() { woken <- tr.Wait(t.Context(), name, after, longWait) }()
			synctest.Wait()
			tr.ForgetEvaluations(func(e Evaluation) bool { return e.Job == "gone" })
			if index := <-woken; index <= after {
				t.Errorf("%s: its index is %d, after %d", name, index, after)
			}
			if index := tr.Wait(t.Context(), name, after, longWait); index <= after {
				t.Errorf("%s: a later query hears of index %d, after %d", name, index, after)
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("%s: it took %v", name, took)
			}
		})
	}
}

// Queries for what stays go on waiting, for as long as they may.
func TestOthersAreNotWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newForgetful("gone", "stays")
		defer tr.Feed.End()
		waiting := func() int {
			tr.mu.Lock()
			defer tr.mu.Unlock()
			return len(tr.waiting)
		}
		began := time.Now()
		for _, name := range []topic.Topic{topic.Evaluation("evaluation-of-stays"), topic.JobEvaluations("stays")} {
			go func() { tr.Wait(t.Context(), name, tr.Index(name), time.Minute) }()
		}
		synctest.Wait()
		tr.ForgetEvaluations(func(e Evaluation) bool { return e.Job == "gone" })
		if evaluations := tr.Evaluations(); len(evaluations) != 1 || evaluations[0].Job != "stays" {
			t.Errorf("known are %v", evaluations)
		}
		synctest.Wait()
		if n := waiting(); n != 2 {
			t.Errorf("%d wait, want 2", n)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		if n := waiting(); n != 0 || time.Since(began) != time.Minute {
			t.Errorf("%d wait after %v", n, time.Since(began))
		}
	})
}

// The oldest evaluation is forgotten when there are too many, with all that is
// known of it, and those who wait for it are woken.
func TestOldEvaluationsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newForgetful("oldest")
		defer tr.Feed.End()
		oldest, began := topic.Evaluation("evaluation-of-oldest"), time.Now()
		woken := make(chan struct{})
		go func() {
			defer close(woken)
			tr.Wait(t.Context(), oldest, tr.Index(oldest), longWait)
		}()
		synctest.Wait()
		for i := range keptEvaluations {
			tr.mu.Lock()
			tr.now++
			tr.keepEvaluation(strconv.Itoa(i), "job", TriggerRegister, "JobRegistered")
			tr.flush()
			tr.mu.Unlock()
		}
		<-woken
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
		if n := len(tr.Evaluations()); n != keptEvaluations {
			t.Errorf("%d evaluations are known, want %d", n, keptEvaluations)
		}
		if _, ok := tr.indexes[oldest]; ok {
			t.Error("the index of one that was forgotten is left")
		}
	})
}
