package template

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
)

// The tasks of an engine get certificates of one authority, with which they
// trust each other.
func TestConnectCertificates(t *testing.T) {
	t.Parallel()
	s := newSetting(t, "",
		file(`{{ range caRoots }}{{ .RootCertPEM }}{{ end }}`, to("local/ca.pem")),
		file(`{{ with caLeaf "web" }}{{ .CertPEM }}{{ end }}`, to("local/cert.pem")),
		file(`{{ with caLeaf "web" }}{{ .PrivateKeyPEM }}{{ end }}`, to("local/key.pem")),
	)
	if err := s.start(Config{}); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.expect("events")
	pair, err := tls.X509KeyPair([]byte(s.read("t/local/cert.pem")), []byte(s.read("t/local/key.pem")))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(s.read("t/local/ca.pem"))) {
		t.Fatal("there is no certificate of the authority")
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "web"}); err != nil {
		t.Error(err)
	}
	if uris := pair.Leaf.URIs; len(uris) != 1 || !strings.HasSuffix(uris[0].String(), ".consul/ns/default/dc/dc1/svc/web") {
		t.Errorf("URIs %v", uris)
	}
}

func TestConnectCertificatesDiffer(t *testing.T) {
	t.Parallel()
	var a authority
	web, err := a.leaf("web")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := a.leaf("web")
	other, _ := a.leaf("api")
	if web != again || web.SerialNumber == other.SerialNumber || a.cert.SerialNumber.String() == web.SerialNumber {
		t.Errorf("serial numbers %s, %s, %s, %s", a.cert.SerialNumber, web.SerialNumber, again.SerialNumber, other.SerialNumber)
	}
}
