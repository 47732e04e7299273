package tasklog

// bufferSize is how much is read from a FIFO at once: what a FIFO holds.
const bufferSize = 64 << 10

// buffers holds every buffer there is. There are few on purpose: however many
// tasks write at once, they bound the memory, and the threads that wait for
// the disk. A goroutine takes one while it holds the lock of a Log, never the
// other way round.
var buffers = newBuffers(8)

func newBuffers(n int) chan []byte {
	c := make(chan []byte, n)
	for range n {
		c <- nil
	}
	return c
}

func takeBuffer() []byte {
	buf := <-buffers
	if buf == nil {
		buf = make([]byte, bufferSize)
	}
	return buf
}

func giveBuffer(buf []byte) { buffers <- buf }
