package port

import "sync"

// Sequence gives out ports that are never listened on: those of the dynamic range
// one after another. What the machine or other jobs do makes no difference.
type Sequence struct {
	mu    sync.Mutex
	next  int // counts from the first dynamic port
	given map[string]int
	taken map[int]bool
}

const dynamicCount = LastDynamic - FirstDynamic + 1

// sequenceLen is how far the beginnings of two sequences lie apart; most jobs
// have fewer ports.
const sequenceLen = 1000

// NewSequence returns the sequence of the nth job of an engine, from 0 on.
func NewSequence(n int) *Sequence {
	return &Sequence{next: n * sequenceLen, given: map[string]int{}, taken: map[int]bool{}}
}

// Of returns the port of an owner, which keeps it. A new owner gets the port that
// it wants, unless that is 0 or given already, or else the next one that spare
// does not want to be spared.
func (s *Sequence) Of(owner string, want int, spare func(number int) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number, ok := s.given[owner]; ok {
		return number
	}
	number := want
	if want == 0 || s.taken[want] {
		for range dynamicCount { // after which some are given twice
			number = FirstDynamic + s.next%dynamicCount
			s.next++
			if !s.taken[number] && !spare(number) {
				break
			}
		}
	}
	s.given[owner], s.taken[number] = number, true
	return number
}
