package image

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The name of an image that was loaded is in the messages of the engine.
func TestLoadedImage(t *testing.T) {
	t.Parallel()
	for messages, want := range map[string]string{
		``:                                       "",
		`{"stream":"Loaded image: web:1\n"}`:     "web:1",
		`{"stream":"Loaded image ID: sha256:0"}`: "sha256:0",
		`{"status":"x"}{"stream":"Loaded image: a:1\nLoaded image: docker.io/library/b:2\n"}`: "docker.io/library/b:2",
	} {
		if got, err := loadedImage(strings.NewReader(messages)); got != want || err != nil {
			t.Errorf("%s: %q, %v", messages, got, err)
		}
	}
	for _, messages := range []string{`{"error":"no","errorDetail":{"message":"no"}}`, `{`} {
		if got, err := loadedImage(strings.NewReader(messages)); got != "" || err == nil {
			t.Errorf("%s: %q, %v", messages, got, err)
		}
	}
}

func TestPlatforms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]ocispec.Platform{
		"":               nil,
		"linux/arm64":    {{OS: "linux", Architecture: "arm64"}},
		"linux/arm64/v8": {{OS: "linux", Architecture: "arm64", Variant: "v8"}},
	} {
		if diff := cmp.Diff(want, platforms(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
