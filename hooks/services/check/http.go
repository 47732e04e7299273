package check

import (
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// transport returns a transport for probes. Each makes a connection of its own:
// a check is to find out whether a new client gets an answer.
func (c *Check) transport() *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{ServerName: c.TLSServerName, InsecureSkipVerify: c.TLSSkipVerify}, //nolint:gosec // the job asks for it
	}
}

// url returns the URL that an http check requests.
func (c *Check) url() (string, error) {
	path, err := url.Parse(c.Path)
	if err != nil {
		return "", err
	}
	base := &url.URL{Scheme: cmp.Or(c.Protocol, "http"), Host: c.hostPort(), Path: "/"}
	return base.ResolveReference(path).String(), nil
}

func (c *Check) http(ctx context.Context) (Result, error) {
	target, err := c.url()
	if err != nil {
		return Result{}, err
	}
	var body io.Reader
	if c.Body != "" {
		body = strings.NewReader(c.Body)
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(c.Method, http.MethodGet), target, body)
	if err != nil {
		return Result{}, err
	}
	for name, values := range c.Header {
		for _, v := range values {
			req.Header.Add(name, v)
		}
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "taskrun")
	}
	resp, err := (&http.Client{Transport: c.transport()}).Do(req)
	if err != nil {
		return Result{}, err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxOutput)) // show what was received
	switch {
	case resp.StatusCode == http.StatusOK:
		return Result{Status: Success, Code: resp.StatusCode, Output: "nomad: http ok"}, nil
	case resp.StatusCode < http.StatusBadRequest:
		return Result{Status: Success, Code: resp.StatusCode, Output: string(text)}, nil
	}
	return Result{Status: Failure, Code: resp.StatusCode, Output: string(text)}, nil
}
