// Package telemetry exports metrics for Prometheus and traces for OpenTelemetry.
package telemetry
