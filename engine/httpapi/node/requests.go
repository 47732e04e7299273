package node

import (
	"math"
	"sync"
	"time"
)

// Requests measures the requests to a server, and logs them for the clients of
// its monitor. The zero value is ready. Its methods are safe for concurrent use.
type Requests struct {
	mu      sync.Mutex
	total   uint64    // requests so far
	seconds float64   // they took
	now     durations // of the current interval
	last    durations // of the interval before
	began   time.Time // of the current interval
	logs    map[*eventLog]bool
}

// interval is the time over which requests are summed up, as in Nomad.
const interval = 10 * time.Second

// durations sums up durations in milliseconds.
type durations struct {
	n                      int
	sum, squares, min, max float64
}

func (d *durations) add(ms float64) {
	if d.n == 0 {
		d.min, d.max = ms, ms
	}
	d.n++
	d.sum += ms
	d.squares += ms * ms
	d.min, d.max = min(d.min, ms), max(d.max, ms)
}

func (d *durations) mean() float64 { return d.sum / float64(max(d.n, 1)) }

// deviation returns the standard deviation.
func (d *durations) deviation() float64 {
	if d.n < 2 {
		return 0
	}
	n := float64(d.n)
	return math.Sqrt(max(0, (d.squares-d.sum*d.sum/n)/(n-1)))
}

// Ended records a request that began at a time and ends now.
func (q *Requests) Ended(method, path string, began time.Time) {
	now := time.Now()
	took := now.Sub(began)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.roll(now)
	q.total++
	q.seconds += took.Seconds()
	q.now.add(took.Seconds() * 1000)
	for l := range q.logs {
		l.request(now, method, path, took)
	}
}

// roll starts another interval if the current one is over. The caller must hold
// the lock.
func (q *Requests) roll(now time.Time) {
	switch since := now.Sub(q.began); {
	case since < interval:
		return
	case since < 2*interval:
		q.last = q.now
	default:
		q.last = durations{}
	}
	q.now, q.began = durations{}, now
}

// recent returns the durations of the requests in the last interval with any.
func (q *Requests) recent() durations {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.roll(time.Now())
	if q.last.n > 0 {
		return q.last
	}
	return q.now
}

// sum returns the number of requests, and how many seconds they took.
func (q *Requests) sum() (n uint64, seconds float64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.total, q.seconds
}

// follow writes requests to a log until stop.
func (q *Requests) follow(l *eventLog) (stop func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.logs == nil {
		q.logs = map[*eventLog]bool{}
	}
	q.logs[l] = true
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.logs, l)
	}
}
