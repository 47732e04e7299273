package artifact

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"

	"github.com/hashicorp/go-getter/v2"
)

// newSum parses a checksum, "type:hex".
func newSum(text string) (*getter.FileChecksum, error) {
	kind, digits, _ := strings.Cut(strings.TrimSpace(text), ":")
	algorithm := map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}[kind]
	if algorithm == nil {
		return nil, fmt.Errorf("checksum %q is not md5:HEX, sha1:HEX, sha256:HEX or sha512:HEX", text)
	}
	sum := &getter.FileChecksum{Type: kind, Hash: algorithm()}
	var err error
	if sum.Value, err = hex.DecodeString(digits); err != nil || len(sum.Value) != sum.Hash.Size() {
		return nil, fmt.Errorf("checksum %q does not have the %d hexadecimal digits of %s", text, 2*sum.Hash.Size(), kind)
	}
	return sum, nil
}

// verify compares a file with a checksum.
func verify(file, text string) error {
	sum, err := newSum(text)
	if err != nil {
		return err
	}
	err = sum.Checksum(file)
	if other, ok := errors.AsType[*getter.ChecksumError](err); ok {
		return fmt.Errorf("checksums did not match: expected %s, got %s:%s", sum, sum.Type, hex.EncodeToString(other.Actual))
	}
	return err
}
