package openid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

// metadata is the discovery document of the issuer.
type metadata struct {
	// Issuer is the URL of the issuer as the issuer spells it, in tokens too.
	Issuer        string   `json:"issuer"`
	AuthURL       string   `json:"authorization_endpoint"`
	TokenURL      string   `json:"token_endpoint"`
	KeysURL       string   `json:"jwks_uri"`
	UserInfoURL   string   `json:"userinfo_endpoint"`    // may be empty
	EndURL        string   `json:"end_session_endpoint"` // may be empty
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
	AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
	IssInCallback bool     `json:"authorization_response_iss_parameter_supported"`

	keys *oidc.RemoteKeySet
}

// discovery is a discovery that has ended or is under way.
type discovery struct {
	done chan struct{} // closed when the other fields are set
	says *metadata
	err  error
}

// Discover fetches the issuer's discovery document, unless the provider has it already. Sign-ins do
// this by themselves.
func (p *Provider) Discover(ctx context.Context) error {
	_, err := p.discovered(ctx)
	return err
}

// discovered returns the metadata of the issuer. All callers share one discovery and wait for it,
// each for as long as its own context lasts. The discovery does not end with the caller that began
// it.
func (p *Provider) discovered(ctx context.Context) (*metadata, error) {
	p.mu.Lock()
	shared := p.found
	if shared == nil {
		shared = &discovery{done: make(chan struct{})}
		p.found = shared
		go p.discover(shared)
	}
	p.mu.Unlock()
	select {
	case <-shared.done:
		return shared.says, shared.err
	case <-ctx.Done():
		return nil, failed(ErrUnavailable, "discovery", ctx.Err())
	}
}

// discover runs a discovery. The time limit of the HTTP client bounds it. If it fails, the next use
// of the provider begins another.
func (p *Provider) discover(shared *discovery) {
	defer close(shared.done)
	shared.says, shared.err = p.ask()
	p.cfg.OnDiscovery(shared.err)
	if shared.err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = nil
}

// ask fetches the metadata of the issuer and checks them.
func (p *Provider) ask() (*metadata, error) {
	if err := CheckIssuer(p.cfg.Issuer); err != nil {
		return nil, failed(ErrMisconfigured, "discovery", err)
	}
	ctx := context.Background()
	document, err := p.get(ctx, unslashed(p.cfg.Issuer)+"/.well-known/openid-configuration", nil)
	if err != nil {
		return nil, failed(ErrUnavailable, "discovery", err)
	}
	at := new(metadata)
	if err := json.Unmarshal(document, at); err != nil {
		return nil, failed(ErrMisconfigured, "discovery", err)
	}
	if err := at.check(p.cfg.Issuer); err != nil {
		return nil, failed(ErrMisconfigured, "discovery", err)
	}
	at.keys = oidc.NewRemoteKeySet(oidc.ClientContext(ctx, p.client), at.KeysURL)
	return at, nil
}

// unslashed returns the URL of an issuer without a slash at its end. The issuer and the
// configuration may differ in this slash, and both spellings have the same discovery document.
func unslashed(issuer string) string { return strings.TrimSuffix(issuer, "/") }

// check returns an error if the issuer is not the issuer of the configuration, if secrets must not
// be sent to its endpoints, or if it signs with no accepted algorithm. check removes the algorithms
// that are not accepted.
func (m *metadata) check(issuer string) error {
	if unslashed(m.Issuer) != unslashed(issuer) {
		return fmt.Errorf("%.200q says that it is the issuer %.200q", issuer, m.Issuer)
	}
	endpoints := []string{m.AuthURL, m.TokenURL, m.KeysURL}
	if m.UserInfoURL != "" {
		endpoints = append(endpoints, m.UserInfoURL)
	}
	if !endpointOK(m.EndURL) {
		m.EndURL = "" // an issuer without it still signs people in
	}
	for _, endpoint := range endpoints {
		if !endpointOK(endpoint) {
			return fmt.Errorf("endpoint %.200q is not an https URL", endpoint)
		}
	}
	if len(m.Algorithms) == 0 {
		m.Algorithms = []string{oidc.RS256} // which the specification makes mandatory
	}
	m.Algorithms = slices.DeleteFunc(m.Algorithms, func(algorithm string) bool {
		return !slices.Contains(accepted, algorithm)
	})
	if len(m.Algorithms) == 0 {
		return errors.New("it names no accepted signature algorithm")
	}
	return nil
}

// endpointOK reports whether a text is the URL of an endpoint to which secrets may be sent.
func endpointOK(endpoint string) bool {
	parsed, err := url.Parse(endpoint)
	return err == nil && parsed.User == nil && trustworthy(parsed)
}

// accepted are the algorithms that may sign an ID token. HMAC is excluded, because a key that
// verifies an HMAC can also make one. "none" is excluded too.
var accepted = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}
