// Package telemetry has what a process shows to monitoring: metrics for Prometheus and traces for
// OpenTelemetry.
package telemetry
