package rest

import "sync/atomic"

// preparedAtOnce is how many answers are put together at a time: each may take
// many times its size in memory meanwhile.
const preparedAtOnce = 8

// Answers bounds what the answers of a server take in memory. Its methods may be
// called from several goroutines at once.
type Answers struct {
	preparing chan struct{} // one for each answer that is put together
	unread    atomic.Int64  // bytes
}

// NewAnswers returns the bounds of a server.
func NewAnswers() *Answers { return &Answers{preparing: make(chan struct{}, preparedAtOnce)} }
