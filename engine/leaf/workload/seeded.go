package workload

import (
	"crypto/rsa"
	"io"
	"math/big"
	"sync"

	"github.com/go-jose/go-jose/v4"

	"taskrun/engine/leaf/chance"
)

// seededBits is the size of a seeded key, which is secret to nobody: the least
// that package rsa takes.
const seededBits = 1024

// NewSeeded returns a keyring in memory whose key and tokens derive from the seed
// of a source. It is for runs in which no task runs: its tokens prove nothing.
func NewSeeded(c chance.Source) *Keyring {
	k := &Keyring{id: c.ID("key"), chance: c}
	k.key = sync.OnceValues(func() (*jose.JSONWebKey, error) {
		private, err := seededKey(c.Reader("primes"))
		if err != nil {
			return nil, err
		}
		return webKey(k.id, private), nil
	})
	return k
}

// seededKey does what rsa.GenerateKey does, which ignores its reader so that
// programs cannot depend on it.
func seededKey(r io.Reader) (*rsa.PrivateKey, error) {
	one, e := big.NewInt(1), big.NewInt(1<<16+1)
	p, q := prime(r, e), prime(r, e)
	phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	key := &rsa.PrivateKey{
		PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: int(e.Int64())},
		D:         new(big.Int).ModInverse(e, phi),
		Primes:    []*big.Int{p, q},
	}
	key.Precompute()
	return key, key.Validate()
}

// prime returns a prime of half a key with which e can be the exponent. The
// reader must be endless.
func prime(r io.Reader, e *big.Int) *big.Int {
	const rounds = 20
	b, p := make([]byte, seededBits/2/8), new(big.Int)
	for {
		_, _ = io.ReadFull(r, b)
		b[0] |= 0xc0 // so that the product has all its bits
		b[len(b)-1] |= 1
		p.SetBytes(b)
		if p.ProbablyPrime(rounds) && new(big.Int).Mod(p, e).Cmp(big.NewInt(1)) != 0 {
			return p
		}
	}
}
