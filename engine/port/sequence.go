package port

import "sync"

// Sequence assigns the ports of the dynamic range one after another, for tasks that
// do not listen on them. Other programs and jobs make no difference.
type Sequence struct {
	mu    sync.Mutex
	next  int // counts from the first dynamic port
	given map[string]int
	taken map[int]bool
}

const dynamicCount = LastDynamic - FirstDynamic + 1

// sequenceLen is the distance between the first ports of two sequences. Most jobs
// have fewer ports.
const sequenceLen = 1000

// NewSequence returns the sequence of the nth job of an engine, from 0 on.
func NewSequence(n int) *Sequence {
	return &Sequence{next: n * sequenceLen, given: map[string]int{}, taken: map[int]bool{}}
}

// Of returns the port of an owner, which keeps it. A new owner gets want, unless
// that is 0 or already assigned; otherwise the next port for which spare returns
// false.
func (s *Sequence) Of(owner string, want int, spare func(number int) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number, ok := s.given[owner]; ok {
		return number
	}
	number := want
	if want == 0 || s.taken[want] {
		for range dynamicCount { // after that, ports are assigned twice
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
