package openid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"linkledger/httpapi/openid/begun"
	"linkledger/httpapi/openid/claims"
)

// exchange exchanges a code for tokens. The token endpoint may repeat the secrets of the request in
// its answer, so errors contain only the error code of the answer.
func exchange(
	ctx context.Context, cfg *oauth2.Config, code, verifier string,
) (*oauth2.Token, error) {
	tokens, err := cfg.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err == nil {
		return tokens, nil
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		as := ErrInvalid
		if slices.Contains(clientFaults, refused.ErrorCode) {
			as = ErrMisconfigured
		}
		return nil, fmt.Errorf(
			"%w: the token endpoint answers with %s", as, cleanCode(refused.ErrorCode),
		)
	}
	if fault(err) {
		return nil, failed(ErrUnavailable, "token endpoint", err)
	}
	return nil, fmt.Errorf("%w: the token endpoint's answer has no tokens", ErrUnavailable)
}

// clientFaults are the error codes with which a token endpoint refuses the client itself, and not
// only one sign-in.
var clientFaults = []string{
	"invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
}

// fault reports whether an error comes from the HTTP client. Such an error means that the issuer
// cannot be reached, or that its answer cannot be used.
func fault(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// verify checks the signature, issuer, audience, times and nonce of an ID token, and returns its
// claims.
func (p *Provider) verify(
	ctx context.Context, at *metadata, raw, nonce string,
) (claims.Claims, error) {
	token, found, err := p.verifySigned(ctx, at, raw, &oidc.Config{Now: p.cfg.Now})
	if err != nil {
		return nil, err
	}
	if err := p.checkFor(found, token.Audience, nonce); err != nil {
		return nil, err
	}
	return found, nil
}

// verifySigned checks that the issuer has signed a token for this client, and returns the token and
// its claims. how says what else is checked.
func (p *Provider) verifySigned(
	ctx context.Context, at *metadata, raw string, how *oidc.Config,
) (*oidc.IDToken, claims.Claims, error) {
	keys := &observedKeys{KeySet: at.keys}
	how.ClientID, how.SupportedSigningAlgs = p.cfg.ClientID, at.Algorithms
	token, err := oidc.NewVerifier(at.Issuer, keys, how).Verify(ctx, raw)
	switch {
	case keys.fault != nil:
		return nil, nil, failed(ErrUnavailable, "keys", keys.fault)
	case err != nil:
		return nil, nil, failed(ErrInvalid, "token", err)
	}
	var found claims.Claims
	if err := token.Claims(&found); err != nil {
		return nil, nil, failed(ErrInvalid, "token", err)
	}
	return token, found, nil
}

// observedKeys keeps the error if keys cannot be fetched, because the verifier's error does not
// wrap it.
type observedKeys struct {
	oidc.KeySet

	fault error
}

// VerifySignature returns the payload of a token if one of the keys has signed it.
func (o *observedKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := o.KeySet.VerifySignature(ctx, token)
	if err != nil && fault(err) {
		o.fault = err
	}
	return payload, err
}

// checkFor returns an error if the ID token was issued to another client or for another sign-in. A
// token for several audiences has to name the client that it was issued to.
func (p *Provider) checkFor(found claims.Claims, audience []string, nonce string) error {
	got, err := found.Text("nonce")
	if err != nil {
		return invalid(err)
	}
	if !begun.Same(got, nonce) {
		return fmt.Errorf("%w: the ID token belongs to another sign-in", ErrInvalid)
	}
	party, err := found.Text("azp")
	if err != nil {
		return invalid(err)
	}
	if (party != "" || len(audience) > 1) && party != p.cfg.ClientID {
		return fmt.Errorf("%w: the ID token was issued to another client", ErrInvalid)
	}
	return nil
}

// complete adds the claims that the issuer's UserInfo endpoint returns, if the ID token lacks
// claims. Many issuers put no more into an ID token than the specification requires.
func (p *Provider) complete(
	ctx context.Context, at *metadata, tokens *oauth2.Token, found claims.Claims,
) error {
	if at.UserInfoURL == "" || !found.Lack(p.cfg.GroupsClaim) {
		return nil
	}
	more, err := p.userInfo(ctx, at, tokens)
	if err != nil {
		return failed(ErrUnavailable, "UserInfo endpoint", err)
	}
	if err := found.Add(more); err != nil {
		return invalid(err)
	}
	return nil
}

// userInfo returns the answer of the UserInfo endpoint.
func (p *Provider) userInfo(
	ctx context.Context, at *metadata, tokens *oauth2.Token,
) (more claims.Claims, err error) {
	answer, err := p.get(ctx, at.UserInfoURL, tokens)
	if err == nil {
		err = json.Unmarshal(answer, &more)
	}
	return more, err
}

// get returns the answer to a GET, with an access token unless tokens is nil.
func (p *Provider) get(
	ctx context.Context, address string, tokens *oauth2.Token,
) (answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if tokens != nil {
		tokens.SetAuthHeader(request)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	answer, err = io.ReadAll(response.Body)
	return answer, errors.Join(err, response.Body.Close())
}
