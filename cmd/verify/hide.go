package verify

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"

	"taskrun/jobspec/redact"
)

// hidden replaces a secret.
const hidden = "(hidden)"

// shortest is the length of the shortest secret that is found in texts: shorter
// ones are parts of ordinary words.
const shortest = 4

// Hider hides secrets in the values of a comparison. Both sides need the same one.
type Hider struct {
	// Text returns a text without secrets.
	Text func(text string) string
	key  []byte
}

// NewHider returns a hider of these secrets, besides those that it recognizes.
func NewHider(secrets []string) Hider {
	h := Hider{Text: redact.Values(secrets, shortest, hidden), key: make([]byte, sha256.Size)}
	_, _ = rand.Read(h.key) // never fails
	return h
}

// Variable returns the value of a variable without secrets, and then without what
// differs from run to run. Instead of a value that its name declares secret it returns
// a mark, which is equal for equal values.
func (h Hider) Variable(name, value string, same func(string) string) string {
	if value == "" || !secretName().MatchString(name) || strings.HasPrefix(name, "NOMAD_") {
		return same(h.Text(value))
	}
	mac := hmac.New(sha256.New, h.key)
	mac.Write([]byte(same(value)))
	return "(hidden, " + hex.EncodeToString(mac.Sum(nil)[:4]) + ")"
}

var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(token|secret|passw|credential|private|auth|api_?key|_key$|_pw$|_dsn$)`)
})
