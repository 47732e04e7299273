package httpapi_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A web page can reach nothing, even if it knows the token and the address: not
// by a websocket, a form or a host name of its own.
func TestPagesWithTheToken(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	addr, token := f.serveTCP()
	_, port, _ := net.SplitHostPort(addr)
	alloc := ""
	for _, a := range f.engine.Allocs() {
		alloc = a.ID
	}
	upgrade := "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	exec := "GET /v1/client/allocation/" + alloc + "/exec?task=main&command=%5B%22a%22%5D HTTP/1.1\r\n" + upgrade
	for name, c := range map[string]struct {
		request string
		want    int
	}{
		"a page's websocket":       {exec + "Host: 127.0.0.1:" + port + "\r\nOrigin: http://evil.example\r\nX-Nomad-Token: " + token, 403},
		"a websocket of a file":    {exec + "Host: 127.0.0.1:" + port + "\r\nOrigin: null\r\nX-Nomad-Token: " + token, 403},
		"rebinding":                {exec + "Host: evil.example:" + port + "\r\nOrigin: http://evil.example:" + port + "\r\nX-Nomad-Token: " + token, 403},
		"rebinding without origin": {exec + "Host: evil.example:" + port + "\r\nX-Nomad-Token: " + token, 403},
		"a name like this machine": {exec + "Host: 127.0.0.1.evil.example:" + port + "\r\nX-Nomad-Token: " + token, 403},
		"localhost of somebody":    {exec + "Host: localhost.evil.example\r\nX-Nomad-Token: " + token, 403},
		"a user in the host":       {exec + "Host: 127.0.0.1@evil.example\r\nX-Nomad-Token: " + token, 400},
		"any address":              {exec + "Host: 0.0.0.0:" + port + "\r\nX-Nomad-Token: " + token, 403},
		"without token":            {exec + "Host: 127.0.0.1:" + port, 403},
		"an empty token":           {exec + "Host: 127.0.0.1:" + port + "\r\nX-Nomad-Token: ", 403},
		"a token too long":         {exec + "Host: 127.0.0.1:" + port + "\r\nX-Nomad-Token: " + token + "x", 403},
		"a token in the query":     {strings.Replace(exec, "?", "?token="+token+"&X-Nomad-Token="+token+"&", 1) + "Host: 127.0.0.1:" + port, 403},
		"a token as password":      {exec + "Host: 127.0.0.1:" + port + "\r\nAuthorization: Basic " + token, 403},
		"the second of two tokens": {exec + "Host: 127.0.0.1:" + port + "\r\nX-Nomad-Token: x\r\nX-Nomad-Token: " + token, 403},
		"a browser's own request":  {"GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nSec-Fetch-Site: same-site\r\nX-Nomad-Token: " + token, 403},
		"a form":                   {"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nOrigin: null\r\nX-Nomad-Token: " + token + "\r\nContent-Length: 0", 403},
	} {
		conn := f.connect("tcp", addr)
		if _, err := io.WriteString(conn, c.request+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(conn)
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != c.want || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: status %d, want %d", name, resp.StatusCode, c.want)
		}
		if c.want == 403 {
			if _, err := reader.ReadByte(); !errors.Is(err, io.EOF) {
				t.Errorf("%s: the connection stays: %v", name, err)
			}
		}
	}
	f.undisturbed()
}
