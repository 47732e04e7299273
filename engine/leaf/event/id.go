package event

import (
	"crypto/rand"
	"encoding/hex"
)

// NewID returns a random ID as Nomad makes them: 16 bytes in hex, grouped like
// a UUID but without a UUID's version bits.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, as crypto/rand documents
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
