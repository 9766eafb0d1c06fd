package openidtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// Fault is what an issuer does wrong in one ID token.
type Fault int

// The faults. The zero Fault is none.
const (
	// WrongAudience is a token for another client.
	WrongAudience Fault = iota + 1
	// WrongParty is a token for this client that names another client as the one that it was issued
	// to.
	WrongParty
	// ManyAudiences is a token for several clients that does not name the client that it was issued to.
	ManyAudiences
	// WrongNonce is the token of another sign-in.
	WrongNonce
	// NoNonce is a token without a nonce.
	NoNonce
	// WrongIssuer is a token of another issuer.
	WrongIssuer
	// Expired is a token that has expired.
	Expired
	// NotYet is a token that becomes valid in the far future.
	NotYet
	// Unsigned is a token with the algorithm "none".
	Unsigned
	// SignedWithSecret is a token that is signed by HMAC with the client's secret. The issuer also
	// publishes the secret among its keys from then on.
	SignedWithSecret
	// UnknownKey is a token that is signed with a key that the issuer does not publish, under the
	// id of a published key.
	UnknownKey
	// UnnamedAlgorithm is a token that is rightly signed by an algorithm that the discovery does
	// not name.
	UnnamedAlgorithm
	// NoToken is an answer without an ID token.
	NoToken
	// TokenFails is an answer of the token endpoint with the status 500.
	TokenFails
)

// wrongClaims are the claims of a token with a fault. A nil value removes a claim.
var wrongClaims = map[Fault]map[string]any{
	WrongAudience: {"aud": "another-client"},
	WrongParty:    {"azp": "another-client"},
	ManyAudiences: {"aud": []string{"another-client", "linkledger"}},
	WrongNonce:    {"nonce": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
	NoNonce:       {"nonce": nil},
	WrongIssuer:   {"iss": "https://issuer.example"},
	Expired:       {"exp": 1_000_000_000},
	NotYet:        {"nbf": 10_000_000_000},
}

// signingKey signs tokens and is published.
type signingKey struct {
	algorithm jose.SignatureAlgorithm
	key       jose.JSONWebKey
	secret    []byte // is published too if it is not nil
}

// firstKey returns the key that every issuer of a test process begins with, because making an RSA
// key takes long.
func firstKey(t testing.TB) signingKey {
	t.Helper()
	key, err := sharedKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

var sharedKey = sync.OnceValues(func() (signingKey, error) { return makeKey(jose.RS256) })

// newKey returns a new key for an algorithm.
func newKey(t testing.TB, algorithm jose.SignatureAlgorithm) signingKey {
	t.Helper()
	key, err := makeKey(algorithm)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// makeKey makes a key with a new id.
func makeKey(algorithm jose.SignatureAlgorithm) (signingKey, error) {
	var key any
	var err error
	switch algorithm {
	case jose.RS256:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case jose.ES256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		err = fmt.Errorf("algorithm %s is not one of the issuer", algorithm)
	}
	return signingKey{
		algorithm: algorithm, key: jose.JSONWebKey{Key: key, KeyID: rand.Text(), Use: "sig"},
	}, err
}

// sign returns an ID token with claims and a fault. The caller holds the mutex.
func (i *Issuer) sign(fault Fault, stated map[string]any) (string, error) {
	maps.Copy(stated, wrongClaims[fault])
	maps.DeleteFunc(stated, func(_ string, value any) bool { return value == nil })
	payload, err := json.Marshal(stated)
	if err != nil {
		return "", err
	}
	signing := i.signing
	switch fault { //nolint:exhaustive // the claims have all other faults
	case Unsigned:
		header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
		return header + "." + base64.RawURLEncoding.EncodeToString(payload) + ".", nil
	case SignedWithSecret:
		i.signing.secret = []byte(i.client.Secret)
		signing.algorithm, signing.key.Key = jose.HS256, i.signing.secret
		signing.key.KeyID = hmacKeyID
	case UnknownKey:
		unknown, err := makeKey(signing.algorithm)
		if err != nil {
			return "", err
		}
		signing.key.Key = unknown.key.Key
	case UnnamedAlgorithm:
		signing.algorithm = jose.PS256
	}
	return signing.sign(payload)
}

// hmacKeyID is the id of the client's secret among the keys.
const hmacKeyID = "secret"

// sign returns a payload with a signature.
func (s signingKey) sign(payload []byte) (string, error) {
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: s.algorithm, Key: s.key},
		(&jose.SignerOptions{}).WithType("JWT"),
	)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// keys answers with the keys that verify tokens.
func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	signing := i.signing
	i.mu.Unlock()
	published := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{signing.key.Public()}}
	if signing.secret != nil {
		published.Keys = append(
			published.Keys, jose.JSONWebKey{Key: signing.secret, KeyID: hmacKeyID},
		)
	}
	writeJSON(w, http.StatusOK, published)
}
