package rest

import "sync/atomic"

// preparedAtOnce limits the responses that are prepared concurrently: each may
// take many times its size in memory.
const preparedAtOnce = 8

// Answers limits the memory for the responses of a server. Its methods are safe
// for concurrent use.
type Answers struct {
	preparing chan struct{} // a token for each response in preparation
	unread    atomic.Int64  // bytes
}

// NewAnswers returns the limits of a server.
func NewAnswers() *Answers { return &Answers{preparing: make(chan struct{}, preparedAtOnce)} }
