package httpapi

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// newForgetful returns a tracker that follows no engine, with an evaluation of
// each job.
func newForgetful(jobs ...string) *tracker {
	t := &tracker{
		now: firstIndex, forgotten: firstIndex, indexes: map[topic]uint64{}, waiting: map[topic]*waiters{}, feed: newFeed(),
	}
	for _, job := range jobs {
		t.now++
		t.keepEvaluation("evaluation-of-"+job, job, triggerRegister, "JobRegistered")
		t.flush()
	}
	return t
}

// A query that waits for a change of an evaluation, of those of a job, or of
// all, is answered at once when one is forgotten, and so is one that comes
// later with the index of an earlier answer.
func TestForgottenEvaluationsWake(t *testing.T) {
	t.Parallel()
	for _, name := range []topic{evaluationTopic("evaluation-of-gone"), jobEvaluationsTopic("gone"), evaluationsTopic("")} {
		synctest.Test(t, func(t *testing.T) {
			tr := newForgetful("gone", "stays")
			defer tr.feed.end()
			began, after := time.Now(), tr.index(name)
			woken := make(chan uint64, 1)
			go func() { woken <- tr.wait(t.Context(), name, after, maxWait) }()
			synctest.Wait()
			tr.forgetEvaluations(func(e evaluationRecord) bool { return e.job == "gone" })
			if index := <-woken; index <= after {
				t.Errorf("%s: its index is %d, after %d", name, index, after)
			}
			if index := tr.wait(t.Context(), name, after, maxWait); index <= after {
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
		defer tr.feed.end()
		waiting := func() int {
			tr.mu.Lock()
			defer tr.mu.Unlock()
			return len(tr.waiting)
		}
		began := time.Now()
		for _, name := range []topic{evaluationTopic("evaluation-of-stays"), jobEvaluationsTopic("stays")} {
			go func() { tr.wait(t.Context(), name, tr.index(name), time.Minute) }()
		}
		synctest.Wait()
		tr.forgetEvaluations(func(e evaluationRecord) bool { return e.job == "gone" })
		if evaluations := tr.evaluated(); len(evaluations) != 1 || evaluations[0].job != "stays" {
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
		defer tr.feed.end()
		oldest, began := evaluationTopic("evaluation-of-oldest"), time.Now()
		woken := make(chan struct{})
		go func() {
			defer close(woken)
			tr.wait(t.Context(), oldest, tr.index(oldest), maxWait)
		}()
		synctest.Wait()
		for i := range keptEvaluations {
			tr.mu.Lock()
			tr.now++
			tr.keepEvaluation(strconv.Itoa(i), "job", triggerRegister, "JobRegistered")
			tr.flush()
			tr.mu.Unlock()
		}
		<-woken
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
		if n := len(tr.evaluated()); n != keptEvaluations {
			t.Errorf("%d evaluations are known, want %d", n, keptEvaluations)
		}
		if _, ok := tr.indexes[oldest]; ok {
			t.Error("the index of one that was forgotten is left")
		}
	})
}
