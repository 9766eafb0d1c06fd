package v3

import "testing"

func TestDomainsInOtherSpellings(t *testing.T) {
	t.Parallel()
	for own, spelling := range map[string]string{
		"[::1]:8080": "[0:0::1]:8080", "xn--bcher-kva.example:8443": "Bücher.example:8443", "my_host": "MY_HOST",
		"a.example:443": "a.example",
	} {
		if !sameDomain(spelling, own) {
			t.Errorf("%s is not %s", spelling, own)
		}
	}
}
