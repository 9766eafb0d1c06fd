// Package containers tests the image, the Compose files and the proxies on a container engine.
// Its tests have the build tag "containers", because they need the engine and minutes:
// make containers runs them.
package containers
