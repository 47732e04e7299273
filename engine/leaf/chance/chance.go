// Package chance gives a run its IDs and random numbers. They are random, or
// derived from a seed: runs with equal seeds are then equal, whatever order
// their goroutines run in.
package chance

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"sync"
	"time"
)

// Source gives IDs and numbers. The zero value gives random ones. Its methods
// may be called from several goroutines at once.
//
// All of them take what the result is for: its kind and the names of its owner,
// such as "allocation", the job, the group and the index. A seeded source
// derives the result from the seed, from these words and from how often they
// were used before. So only results for the same owner must be requested in a
// fixed order.
type Source struct{ draws *draws }

type draws struct {
	seed uint64

	mu    sync.Mutex
	count map[string]uint64 // by what they were for
}

// Seeded returns the source of one run.
func Seeded(seed uint64) Source {
	return Source{&draws{seed: seed, count: map[string]uint64{}}}
}

// Seeded reports whether the source has a seed.
func (s Source) Seeded() bool { return s.draws != nil }

// ID returns an ID as Nomad makes them: 16 bytes in hex, grouped like a UUID but
// without a UUID's version bits.
func (s Source) ID(of ...any) string {
	var b [16]byte
	_, _ = io.ReadFull(s.Reader(of...), b[:]) // never fails
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Float returns a number in [0,1).
func (s Source) Float(of ...any) float64 {
	if s.draws == nil {
		return mathrand.Float64()
	}
	return mathrand.New(s.draws.next(of)).Float64()
}

// Int returns a number in [0,n). It panics unless n is positive.
func (s Source) Int(n int64, of ...any) int64 {
	if s.draws == nil {
		return mathrand.Int64N(n)
	}
	return mathrand.New(s.draws.next(of)).Int64N(n)
}

// Duration returns a duration in [0,n). It panics unless n is positive.
func (s Source) Duration(n time.Duration, of ...any) time.Duration {
	return time.Duration(s.Int(int64(n), of...))
}

// Reader returns endless bytes. Those of a source without a seed are
// cryptographically secure.
func (s Source) Reader(of ...any) io.Reader {
	if s.draws == nil {
		return rand.Reader
	}
	return s.draws.next(of)
}

// next returns a generator that is used for one result only.
func (d *draws) next(of []any) *mathrand.ChaCha8 {
	what := fmt.Sprintf("%#v", of)
	d.mu.Lock()
	n := d.count[what]
	d.count[what]++
	d.mu.Unlock()
	head := binary.BigEndian.AppendUint64(nil, d.seed)
	head = binary.BigEndian.AppendUint64(head, n)
	return mathrand.NewChaCha8(sha256.Sum256(append(head, what...)))
}
