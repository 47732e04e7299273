package workload

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"taskrun/engine/leaf/chance"
)

// keyBits is the size of Nomad's RSA keys.
const keyBits = 2048

// Keyring signs and verifies tokens. It creates the key on first use. Its
// methods are safe for concurrent use.
type Keyring struct {
	id     string                           // of a key in memory
	key    func() (*jose.JSONWebKey, error) // once
	chance chance.Source                    // of the IDs of tokens
}

// NewKeyring returns a keyring in memory. Its tokens become invalid with it.
func NewKeyring() *Keyring {
	k := &Keyring{id: chance.Source{}.ID()}
	k.key = sync.OnceValues(func() (*jose.JSONWebKey, error) { return newKey(k.id) })
	return k
}

// OpenKeyring returns a keyring that keeps its key in a file, so that a later
// engine accepts the tokens of this one.
func OpenKeyring(file string) *Keyring {
	return &Keyring{key: sync.OnceValues(func() (*jose.JSONWebKey, error) {
		key, err := readKey(file)
		if errors.Is(err, fs.ErrNotExist) {
			if err = createKey(file); err == nil || errors.Is(err, fs.ErrExist) {
				key, err = readKey(file) // it may be that of another engine
			}
		}
		if err != nil {
			return nil, fmt.Errorf("cannot use the key of workload identities: %w", err)
		}
		return key, nil
	})}
}

// ID returns the ID of the key, or "".
func (k *Keyring) ID() string {
	if k.id != "" {
		return k.id
	}
	key, err := k.key()
	if err != nil {
		return ""
	}
	return key.KeyID
}

// Public returns the public key, as a set for those who verify tokens.
func (k *Keyring) Public() (jose.JSONWebKeySet, error) {
	key, err := k.key()
	if err != nil {
		return jose.JSONWebKeySet{}, err
	}
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}}, nil
}

// Sign returns the token that proves claims. Without an ID they get one.
func (k *Keyring) Sign(c Claims) (string, error) {
	if c.ID == "" {
		c.ID = k.chance.ID("token", c.Allocation, c.Subject)
	}
	key, err := k.key()
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, new(jose.SignerOptions).WithType("JWT"))
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(c).Serialize()
}

// Verify returns the claims of a token of this keyring, unless it has expired.
func (k *Keyring) Verify(token string, now time.Time) (Claims, error) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return Claims{}, err
	}
	key, err := k.key()
	if err != nil {
		return Claims{}, err
	}
	var c Claims
	public := key.Public()
	if err := parsed.Claims(&public, &c); err != nil {
		return Claims{}, err
	}
	dates := jwt.Claims{IssuedAt: c.IssuedAt, NotBefore: c.NotBefore, Expiry: c.Expiry}
	if err := dates.ValidateWithLeeway(jwt.Expected{Time: now}, 0); err != nil {
		return Claims{}, err
	}
	return c, nil
}

func newKey(id string) (*jose.JSONWebKey, error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, err
	}
	return webKey(id, private), nil
}

func webKey(id string, private *rsa.PrivateKey) *jose.JSONWebKey {
	return &jose.JSONWebKey{Key: private, KeyID: id, Algorithm: string(jose.RS256), Use: "sig"}
}

func readKey(file string) (*jose.JSONWebKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var key jose.JSONWebKey
	if err := json.Unmarshal(text, &key); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if _, ok := key.Key.(*rsa.PrivateKey); !ok || key.KeyID == "" {
		return nil, fmt.Errorf("%s: it holds no private RSA key with an ID", file)
	}
	return &key, nil
}

// createKey writes a new key to a file that does not exist, atomically, and
// never replaces the key of another engine.
func createKey(file string) error {
	key, err := newKey(chance.Source{}.ID())
	if err != nil {
		return err
	}
	text, err := json.Marshal(key)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.new") // private to the user
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Link(temp.Name(), file)
}

// seededBits is the size of a seeded key: the smallest that package rsa allows,
// because a seeded key is not secret.
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
