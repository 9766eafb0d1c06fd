package v3

import (
	"fmt"
	"strconv"
	"strings"

	"linkledger/commands/destination"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/shortlink"
)

// domainHandler answers calls about the only domain.
type domainHandler struct {
	Base           shortlink.Base
	RedirectStatus int
}

// domainsAnswer answers the list of domains. All accounts have the same one.
type domainsAnswer struct {
	response.Envelope
	Domains []domainRecord `json:"domains"`
}

// domainRecord is a domain in the form that clients of this API know.
type domainRecord struct {
	Domain           string `json:"domain"`
	HashCharacterSet string `json:"hash_character_set"`
	HashGeneration   string `json:"hash_generation"`
	Status           string `json:"status"`
	CustomRootPage   string `json:"custom_root_page"`
	Custom404Page    string `json:"custom_404_page"`
	RedirectCode     string `json:"redirect_code"`
	UseHTTPS         bool   `json:"use_https"`
}

func (h *domainHandler) listDomains(c *request.Context) (any, error) {
	scheme, domain, _ := strings.Cut(h.Base.Of(c.Request), "://")
	return domainsAnswer{Envelope: response.Succeeded(), Domains: []domainRecord{{
		Domain:           domain,
		HashCharacterSet: "restricted", // generated hashes have no characters that look alike
		HashGeneration:   "random",
		Status:           "default",
		RedirectCode:     strconv.Itoa(h.RedirectStatus),
		UseHTTPS:         scheme == "https",
	}}}, nil
}

// checkDomain refuses a call that is meant for another domain: it would read or change links that
// are not meant.
func (h *domainHandler) checkDomain(c *request.Context) error {
	if c.Request.URL.RawQuery == "" {
		return nil
	}
	query, err := decode.Query(c)
	if err != nil {
		return nil //nolint:nilerr // calls that read parameters refuse them, the others ignore them
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

// sameDomain reports whether two domains are one, in whatever spelling.
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
