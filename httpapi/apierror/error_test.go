package apierror

import (
	"strings"
	"testing"
)

func TestDetailsAreClipped(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("é", 10_000), strings.Repeat("\xff", 10_000)} {
		if got := clip(text); len(got) > 2*maxDetails+len("…") {
			t.Errorf("%d bytes are left", len(got))
		}
	}
	if got := clip("short é"); got != "short é" {
		t.Errorf("%s is %v; want %v", "short", got, "short é")
	}
}
