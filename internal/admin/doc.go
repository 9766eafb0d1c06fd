// Package admin answers on the internal address: health, readiness, metrics and profiles. It
// answers from the start of a process, before there is a service, to its end.
package admin
