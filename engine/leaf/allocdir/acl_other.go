//go:build !linux

package allocdir

import (
	"errors"
	"os"
)

func readACL(*os.File) (acl, error) { return nil, errors.ErrUnsupported }
func writeACL(*os.File, acl) error  { return errors.ErrUnsupported }
