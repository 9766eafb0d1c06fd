package eventstoretest

// The check for goroutines that the tests of a package leave behind.

import "go.uber.org/goleak"

// Main runs the tests of a package, and fails if they leave goroutines behind. A proxy that is
// closed while it delays data leaves one, which does not count.
func Main(m goleak.TestingM) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(
		"github.com/Shopify/toxiproxy/v2/toxics.(*LatencyToxic).Pipe",
	))
}
