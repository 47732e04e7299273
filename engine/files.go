package engine

import (
	"fmt"
	"math"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/nomad/api"
)

// Descriptors that stay open as long as a job, an allocation and a task live.
const (
	filesOfJob   = 2
	filesOfAlloc = 3
	filesOfTask  = 5
)

// openFiles counts the descriptors of living jobs. A process without any left
// could not even stop its jobs and remove their directories, so jobs beyond its
// limit are refused.
type openFiles struct {
	limit int // for jobs; the rest is for clients, and for what is open only shortly
	used  atomic.Int64
}

// fileLimit returns how many descriptors living jobs may have. The tasks of
// rehearsals open few.
func (c *Config) fileLimit() int {
	var limit syscall.Rlimit
	if c.LogicalPorts || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt
	}
	most := int(min(limit.Cur, math.MaxInt32)) //nolint:gosec // below 1<<31
	return most - most/8
}

// check refuses a job that needs more descriptors than are left. now is the
// version that it replaces, or nil.
func (f *openFiles) check(job, now *api.Job) error {
	needs, left := filesOf(job), max(0, f.limit-int(f.used.Load()))
	if more := needs - filesOf(now); more <= 0 || more <= left {
		return nil
	}
	return fmt.Errorf("the job needs about %d open files, and of the %d that jobs may have in this process, %d are left: "+
		"stop other jobs, lower the count, or raise the limit (ulimit -n) and start taskrun again", needs, f.limit, left)
}

// filesOf returns how many descriptors a job needs.
func filesOf(job *api.Job) int {
	if job == nil || isStopped(job) || launches(job) {
		return 0
	}
	n := filesOfJob
	for _, g := range job.TaskGroups {
		n += *g.Count * filesOfGroup(g)
	}
	return n
}

// filesOfGroup returns how many descriptors an allocation of a group needs.
func filesOfGroup(g *api.TaskGroup) int { return filesOfAlloc + len(g.Tasks)*filesOfTask }

// hold counts the descriptors of a slot that begins to live. The caller must
// hold the lock.
func (s *slot) hold() {
	s.files = filesOfAlloc
	if g := s.version(s.Want).LookupTaskGroup(s.group); g != nil {
		s.files = filesOfGroup(g)
	}
	if s.jobRun.living++; s.jobRun.living == 1 {
		s.files += filesOfJob
	}
	s.engine.files.used.Add(int64(s.files))
}

// release takes back what hold has counted. The caller must hold the lock.
func (s *slot) release() {
	s.jobRun.living--
	s.engine.files.used.Add(int64(-s.files))
}
