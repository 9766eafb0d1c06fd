package v3

import (
	"fmt"
	"strconv"
	"strings"

	"linkledger/commands/destination"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/shortlink"
)

// domainHandler handles calls about domains. There is one domain.
type domainHandler struct {
	Base           shortlink.Base
	RedirectStatus int
}

func (h *domainHandler) listDomains(c *request.Context) (any, error) {
	scheme, domain, _ := strings.Cut(h.Base.Of(c.Request), "://")
	return contract.DomainsAnswer{Envelope: response.Succeeded(), Domains: []contract.ShortDomain{{
		Domain:           domain,
		HashCharacterSet: "restricted", // generated hashes have no ambiguous characters
		HashGeneration:   "random",
		Status:           "default",
		RedirectCode:     strconv.Itoa(h.RedirectStatus),
		UseHTTPS:         scheme == "https",
	}}}, nil
}

// checkDomain refuses a call whose parameter domain names another domain, because it would read or
// change the wrong links.
func (h *domainHandler) checkDomain(c *request.Context) error {
	if c.Request.URL.RawQuery == "" {
		return nil
	}
	query, err := decode.Query(c)
	if err != nil {
		return nil //nolint:nilerr // handlers that read parameters report the error
	}
	_, own, _ := strings.Cut(h.Base.Of(c.Request), "://")
	for _, domain := range query["domain"] {
		if domain != "" && !sameDomain(domain, own) {
			return &apierror.Error{
				Code:    apierror.CodeDomainNotFound,
				Details: fmt.Sprintf("The only domain is %s, not %q", own, domain),
			}
		}
	}
	return nil
}

// sameDomain reports whether domain and own are spellings of the same domain.
func sameDomain(domain, own string) bool {
	if domain == own {
		return true
	}
	canonical, err := destination.ShortHost("http://" + domain)
	if err != nil || strings.ContainsAny(domain, `/\?#`) {
		return false
	}
	other, err := destination.ShortHost("http://" + own)
	return err == nil && canonical == other
}
