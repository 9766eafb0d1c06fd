package redirect

import "testing"

func TestHeadersCannotBeInjected(t *testing.T) {
	t.Parallel()
	for long, safe := range map[string]bool{
		"https://example.com/ü": true, "https://example.com/\r\nX: y": false, "https://example.com/\n": false,
		"https://example.com/\x00": false,
		"https://example.com/\x7f": false, "https://example.com/\t": false,
	} {
		if got := headerSafe(long); got != safe {
			t.Errorf("%s is %v; want %v", long, got, safe)
		}
	}
}
