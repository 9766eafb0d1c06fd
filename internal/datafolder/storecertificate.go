package datafolder

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"net"
	"slices"
	"time"
)

const (
	certificateYears = 10
	// renewBefore is how long before its expiry a certificate is replaced.
	renewBefore = 90 * 24 * time.Hour
)

// newCertificate returns a certificate with its key, for a server with these names. ca is the
// certificate of the authority that signed it. The authority's key is discarded, so it never signs
// another certificate.
func newCertificate(names []string) (server, ca []byte, err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	authority := &x509.Certificate{
		Subject: pkix.Name{
			CommonName: "Linkledger event store of " + now.UTC().Format(time.DateTime),
		},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(certificateYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	authorityDER, err := x509.CreateCertificate(
		rand.Reader, authority, authority, caKey.Public(), caKey,
	)
	if err != nil {
		return nil, nil, err
	}
	if authority, err = x509.ParseCertificate(authorityDER); err != nil {
		return nil, nil, err
	}
	leaf := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "Linkledger event store"},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), caKey)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	server = append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafDER}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})...)
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authorityDER}), nil
}

// readCertificate reads a certificate of newCertificate. It fails unless clients that trust the
// authority accept the certificate for each of the names until renewBefore has passed.
func readCertificate(server, ca []byte, names []string) (tls.Certificate, error) {
	certificate, err := tls.X509KeyPair(server, server)
	if err != nil {
		return certificate, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca) // without a certificate, Verify fails below
	_, err = certificate.Leaf.Verify(
		x509.VerifyOptions{Roots: roots, CurrentTime: time.Now().Add(renewBefore)},
	)
	for _, name := range names {
		err = errors.Join(err, certificate.Leaf.VerifyHostname(name))
	}
	return certificate, err
}
