package verify

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"sync"

	"taskrun/jobspec/redact"
)

// hidden replaces a secret.
const hidden = "(hidden)"

// shortest is the length of the shortest secret that is found in texts: shorter
// ones are parts of ordinary words.
const shortest = 4

// Hider hides secrets in what is compared. Both sides of a comparison need the same
// one.
type Hider struct {
	secrets *strings.Replacer
	key     []byte
}

// NewHider returns a hider of these secrets, besides those that it recognizes.
func NewHider(secrets []string) Hider {
	h := Hider{key: make([]byte, sha256.Size)}
	_, _ = rand.Read(h.key) // never fails
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < shortest })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may contain another
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, hidden)
	}
	h.secrets = strings.NewReplacer(pairs...)
	return h
}

// Text returns a text without secrets.
func (h Hider) Text(text string) string {
	return redact.Text(jwt().ReplaceAllString(h.secrets.Replace(text), hidden))
}

// Variable returns the value of a variable without secrets. Instead of a value that
// its name declares secret it returns a mark, which is equal for equal values.
func (h Hider) Variable(name, value string) string {
	if value == "" || !secretName().MatchString(name) || strings.HasPrefix(name, "NOMAD_") {
		return h.Text(value)
	}
	mac := hmac.New(sha256.New, h.key)
	mac.Write([]byte(value))
	return "(hidden, " + hex.EncodeToString(mac.Sum(nil)[:4]) + ")"
}

var (
	// jwt matches the tokens of workload identities.
	jwt = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\beyJ[\w-]{10,}\.[\w-]+\.[\w-]+`)
	})
	secretName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(token|secret|passw|credential|private|auth|api_?key|_key$|_pw$|_dsn$)`)
	})
)
