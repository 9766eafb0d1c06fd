// Package admin serves the internal address: health, readiness, metrics, profiles and the console
// of operators. It does so from the start of a process, when there is no service yet, until the
// process ends.
package admin
