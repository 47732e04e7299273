package template

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"sync"
	"time"

	consul "github.com/hashicorp/consul/api"
)

// trustDomain is the one of an authority, and validity that of its certificates:
// an authority ends with its engine, before it has to renew any.
const (
	trustDomain = "taskrun.consul"
	validity    = 10 * 365 * 24 * time.Hour
)

// authority issues certificates for services, for the functions caRoots and
// caLeaf. Tasks that use both can speak mTLS with each other; the forwards of
// upstreams do not. The zero value is ready for use, also concurrently.
type authority struct {
	mu     sync.Mutex
	cert   *x509.Certificate // nil: none yet
	key    *ecdsa.PrivateKey
	root   *consul.CARoot
	leaves map[string]*consul.LeafCert
	serial int64 // of the latest certificate
}

// roots returns the certificate of the authority.
func (a *authority) roots() ([]*consul.CARoot, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.create(); err != nil {
		return nil, err
	}
	return []*consul.CARoot{a.root}, nil
}

// leaf returns the certificate of a service, which is always the same.
func (a *authority) leaf(service string) (*consul.LeafCert, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.leaves[service]; known != nil {
		return known, nil
	}
	if err := a.create(); err != nil {
		return nil, err
	}
	uri := url.URL{Scheme: "spiffe", Host: trustDomain, Path: "/ns/default/dc/dc1/svc/" + service}
	cert, key, text, err := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: service}, DNSNames: []string{service}, URIs: []*url.URL{&uri},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	a.leaves[service] = &consul.LeafCert{
		SerialNumber: cert.SerialNumber.String(), CertPEM: text, Service: service, ServiceURI: uri.String(),
		PrivateKeyPEM: string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})),
		ValidAfter:    cert.NotBefore, ValidBefore: cert.NotAfter,
	}
	return a.leaves[service], nil
}

// create creates the certificate of the authority, once. The caller must hold
// the lock.
func (a *authority) create() (err error) {
	if a.cert != nil {
		return nil
	}
	var text string
	a.cert, a.key, text, err = a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "taskrun CA"}, URIs: []*url.URL{{Scheme: "spiffe", Host: trustDomain}},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	})
	if err != nil {
		return err
	}
	a.leaves = map[string]*consul.LeafCert{}
	a.root = &consul.CARoot{
		ID: fmt.Sprintf("%x", a.cert.SubjectKeyId), Name: a.cert.Subject.CommonName, RootCertPEM: text, Active: true,
	}
	return nil
}

// issue completes a certificate and signs it, the first one by itself.
func (a *authority) issue(c *x509.Certificate) (cert *x509.Certificate, key *ecdsa.PrivateKey, text string, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, "", err
	}
	a.serial++
	c.SerialNumber = big.NewInt(a.serial)
	c.NotBefore = time.Now().Add(-time.Minute)
	c.NotAfter = c.NotBefore.Add(validity)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, nil, "", err
	}
	cert, err = x509.ParseCertificate(der)
	return cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), err
}
