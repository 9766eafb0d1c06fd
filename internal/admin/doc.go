// Package admin serves the internal address: health, readiness, metrics, profiles and the console
// of operators. It does so from the start of a process, before there is a service, to its end.
package admin
