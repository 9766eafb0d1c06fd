// Package installation is how operator commands reach a running installation: they find its
// backends and use its event store, its read models or both.
package installation
