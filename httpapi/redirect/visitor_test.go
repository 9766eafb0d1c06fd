package redirect

import (
	"net/http"
	"strings"
	"testing"
)

func TestReferrerHost(t *testing.T) {
	t.Parallel()
	for referrer, want := range map[string]string{
		"https://News.Example.COM:8443/a?secret=1": "news.example.com", "https://example.com.": "example.com", "": "",
		"android-app://com.example": "com.example", "nonsense": "", "https://a b/": "",
		"https://[2001:db8::1]/":                        "2001:db8::1",
		"https://" + strings.Repeat("a", 300) + ".com/": "",
	} {
		if got := referrerHost(http.Header{"Referer": {referrer}}); got != want {
			t.Errorf("%s is %v; want %v", referrer, got, want)
		}
	}
	if got := referrerHost(http.Header{}); got != "" {
		t.Errorf("%s is %v; want %v", "none", got, "")
	}
}
