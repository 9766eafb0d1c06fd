package openid

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
)

// metadata is what the issuer says of itself.
type metadata struct {
	AuthURL       string   `json:"authorization_endpoint"`
	TokenURL      string   `json:"token_endpoint"`
	KeysURL       string   `json:"jwks_uri"`
	UserInfoURL   string   `json:"userinfo_endpoint"` // may be empty
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

// discovered returns what the issuer says of itself. All callers share one discovery and wait for
// it, each for as long as its own context lasts. It does not end with the caller that began it.
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

// discover runs a discovery. If it fails, the next use begins another. The client's time limit ends
// it.
func (p *Provider) discover(shared *discovery) {
	defer close(shared.done)
	at, err := p.ask()
	if err == nil {
		shared.says = at
		return
	}
	shared.err = failed(ErrUnavailable, "discovery", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = nil
}

// ask fetches what the issuer says of itself and checks it.
func (p *Provider) ask() (*metadata, error) {
	if err := CheckIssuer(p.cfg.Issuer); err != nil {
		return nil, err
	}
	ctx := oidc.ClientContext(context.Background(), p.client)
	provider, err := oidc.NewProvider(ctx, p.cfg.Issuer)
	if err != nil {
		return nil, err
	}
	at := new(metadata)
	if err := provider.Claims(at); err != nil {
		return nil, err
	}
	if err := at.check(); err != nil {
		return nil, err
	}
	at.keys = oidc.NewRemoteKeySet(ctx, at.KeysURL)
	return at, nil
}

// check returns an error if secrets must not be sent to the endpoints of an issuer, or if it signs
// by no algorithm that is accepted. It drops all other algorithms.
func (m *metadata) check() error {
	endpoints := []string{m.AuthURL, m.TokenURL, m.KeysURL}
	if m.UserInfoURL != "" {
		endpoints = append(endpoints, m.UserInfoURL)
	}
	for _, endpoint := range endpoints {
		parsed, err := url.Parse(endpoint)
		if err != nil || parsed.User != nil || !trustworthy(parsed) {
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
		return errors.New("it names no algorithm of signatures that is accepted")
	}
	return nil
}

// accepted are the algorithms that may sign an ID token: those whose key to verify cannot sign.
// HMAC is not among them, and neither is "none".
var accepted = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}
