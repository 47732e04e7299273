package artifact

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hashicorp/go-getter/v2"

	"taskrun/engine/leaf/event"
)

// getHTTP downloads a file. It sends one GET request, without HEAD, follows
// redirects, and uses netrc and the proxies of the environment.
func (o *order) getHTTP(ctx context.Context, cfg Config, file string, m *meter) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if o.insecure {
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // the job file sets insecure
	}
	defer transport.CloseIdleConnections()
	headers := http.Header{}
	for name, value := range o.headers {
		headers.Set(name, value)
	}
	client := getter.Client{
		Decompressors: map[string]getter.Decompressor{}, // see unpack
		Getters: []getter.Getter{&getter.HttpGetter{
			Client:                &http.Client{Transport: limited{transport, cfg.HTTPMaxSize, m}},
			Header:                headers,
			Netrc:                 true,
			DoNotCheckHeadFirst:   true,
			ReadTimeout:           cfg.HTTPReadTimeout,
			XTerraformGetDisabled: true,
		}},
	}
	_, err := client.Get(ctx, &getter.Request{Src: o.address(), Dst: file, GetMode: getter.ModeFile})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it took longer than %v", cfg.HTTPReadTimeout)
	case errors.Is(err, io.ErrShortWrite):
		return errors.New("the server broke off")
	}
	return reason(err)
}

// limited counts bytes and fails once there are too many.
type limited struct {
	next  http.RoundTripper
	limit int64
	meter *meter
}

func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.ContentLength > l.limit {
		_ = resp.Body.Close()
		return nil, errors.New(tooLarge("the file", l.limit))
	}
	l.meter.begin(resp.ContentLength)
	resp.Body = &limitedBody{resp.Body, l}
	return resp, nil
}

type limitedBody struct {
	io.ReadCloser
	limited
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.meter.add(n) > b.limit {
		return n, errors.New(tooLarge("the file", b.limit))
	}
	return n, err
}

func tooLarge(what string, limit int64) string {
	return fmt.Sprintf("%s is larger than the limit of %s", what, event.Size(limit))
}
