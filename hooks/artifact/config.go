package artifact

import (
	"cmp"
	"time"
)

// Config is what a download may take. The zero value of a field means Nomad's
// default of the client's artifact block
// (https://developer.hashicorp.com/nomad/docs/configuration/client#artifact-parameters).
type Config struct {
	HTTPReadTimeout time.Duration // for the whole of a file; 30m
	HTTPMaxSize     int64         // of a file, in bytes; 100 GB
	GitTimeout      time.Duration // 30m
	UnpackedSize    int64         // of all files in an archive, in bytes; 100 GB
	UnpackedFiles   int           // in an archive; 4096
}

func (c Config) withDefaults() Config {
	const nomadTime, nomadSize = 30 * time.Minute, 100_000_000_000
	return Config{
		HTTPReadTimeout: cmp.Or(c.HTTPReadTimeout, nomadTime), HTTPMaxSize: cmp.Or(c.HTTPMaxSize, nomadSize), GitTimeout: cmp.Or(c.GitTimeout, nomadTime),
		UnpackedSize: cmp.Or(c.UnpackedSize, nomadSize), UnpackedFiles: cmp.Or(c.UnpackedFiles, 4096),
	}
}

// deadline is how long an artifact may take with all that belongs to it.
func (c Config) deadline() time.Duration {
	return max(30*time.Minute, c.HTTPReadTimeout, c.GitTimeout) + time.Minute
}
