package artifact

import (
	"cmp"
	"time"
)

// Config limits downloads. The zero value of a field means Nomad's default in
// the client's artifact block
// (https://developer.hashicorp.com/nomad/docs/configuration/client#artifact-parameters).
type Config struct {
	HTTPReadTimeout time.Duration // for a whole file; 30m
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

// deadline returns the time limit of an artifact, including everything that
// belongs to it.
func (c Config) deadline() time.Duration {
	return max(30*time.Minute, c.HTTPReadTimeout, c.GitTimeout) + time.Minute
}
