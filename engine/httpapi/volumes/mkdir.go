package volumes

import (
	"fmt"
	"io/fs"
	"strconv"

	"taskrun/engine/leaf/datadir"
)

// mkdirAttributes reads the parameters of Nomad's plugin mkdir.
func mkdirAttributes(parameters map[string]string) (a datadir.VolumeAttributes, err error) {
	a = datadir.VolumeAttributes{UID: -1, GID: -1}
	for name, value := range parameters {
		var number uint64
		switch name {
		case "mode":
			if number, err = strconv.ParseUint(value, 8, 12); err == nil {
				a.Mode = fs.FileMode(number) & fs.ModePerm
			}
		case "uid":
			a.UID, err = strconv.Atoi(value)
		case "gid":
			a.GID, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("unknown mkdir parameter: %q", name)
		}
		if err != nil {
			return a, fmt.Errorf("HostVolume.Create error: invalid value for %q: %w", name, err)
		}
	}
	return a, nil
}
