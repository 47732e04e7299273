package daemon

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/drivers"
)

// The address of the engine is that of the options, of the environment, or of
// the docker command's context.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const sum = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" // of foo
	write("contexts/meta/"+sum+"/meta.json", `{"Endpoints":{"docker":{"Host":"tcp://foo:1"}}}`)
	const ofDefault = "37a8eec1ce19687d132fe29051dca629d164e2c4958ba141d5f4133a33f0688f" // the name of no context
	write("contexts/meta/"+ofDefault+"/meta.json", `{"Endpoints":{"docker":{"Host":"tcp://default:1"}}}`)
	const standard = "unix:///var/run/docker.sock"
	for _, c := range []struct {
		host, config string
		env          map[string]string
		want         string
	}{
		{host: "tcp://a:1", env: map[string]string{"DOCKER_HOST": "tcp://b:1"}, want: "tcp://a:1"},
		{env: map[string]string{"DOCKER_HOST": "tcp://b:1", "DOCKER_CONTEXT": "foo"}, want: "tcp://b:1"},
		{env: map[string]string{"DOCKER_CONTEXT": "foo"}, want: "tcp://foo:1"},
		{env: map[string]string{"DOCKER_CONTEXT": "bar"}, want: standard},
		{env: map[string]string{"DOCKER_CONTEXT": "default"}, config: `{"currentContext":"foo"}`, want: standard},
		{config: `{"currentContext":"foo"}`, want: "tcp://foo:1"},
		{config: `{"currentContext":"default"}`, want: standard},
		{config: `nonsense`, want: standard},
		{want: standard},
	} {
		if c.config != "" {
			write("config.json", c.config)
		} else {
			_ = os.Remove(filepath.Join(dir, "config.json"))
		}
		e := Find(c.host, nil, func(name string) string {
			if name == "DOCKER_CONFIG" {
				return dir
			}
			return c.env[name]
		})
		if e.Host != c.want || e.TLS != nil || !e.Verify {
			t.Errorf("%+v: %+v", c, e)
		}
	}
	env := map[string]string{"DOCKER_CERT_PATH": "/certs", "DOCKER_TLS_VERIFY": "1"}
	e := Find("tcp://a:1", nil, func(name string) string { return env[name] })
	if e.TLS == nil || e.TLS.Cert != "/certs/cert.pem" || e.TLS.Key != "/certs/key.pem" || e.TLS.CA != "/certs/ca.pem" || !e.Verify {
		t.Errorf("%+v, %+v", e, e.TLS)
	}
	delete(env, "DOCKER_TLS_VERIFY")
	if e := Find("tcp://a:1", nil, func(name string) string { return env[name] }); e.Verify {
		t.Error("the certificate of the engine is verified")
	}
	if e := Find("tcp://a:1", &TLS{CA: "/ca"}, func(name string) string { return env[name] }); e.TLS.CA != "/ca" || !e.Verify {
		t.Errorf("%+v, %+v", e, e.TLS)
	}
	if got := ConfigDir(func(name string) string { return map[string]string{"HOME": "/home/x"}[name] }); got != "/home/x/.docker" {
		t.Error(got)
	}
	for host, want := range map[string]string{"ssh://x": "must be on this machine", "nonsense": "cannot use the Docker engine"} {
		if _, err := (Endpoint{Host: host}).Client(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// Requests without a complete response may be retried.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded} {
		if got := Error("cannot try", err); !drivers.IsRecoverable(got) || !strings.HasPrefix(got.Error(), "cannot try: ") {
			t.Errorf("%v: %v", err, got)
		}
	}
	if err := Error("cannot try", errors.New("no")); drivers.IsRecoverable(err) || err.Error() != "cannot try: no" {
		t.Error(err)
	}
}
