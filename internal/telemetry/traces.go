package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"linkledger/internal/usage"
)

// Traces sends spans by OTLP over gRPC. The environment variables of OpenTelemetry, which its
// modules read themselves, set the receiver, the sampling and the name of the service. The zero
// value traces nothing.
type Traces struct {
	provider *sdktrace.TracerProvider // nil for none
}

// flushTimeout bounds the sending of the remaining spans when the process ends.
const flushTimeout = 10 * time.Second

// OpenTraces returns traces with the version of the program. It does not connect yet.
func OpenTraces(
	ctx context.Context, getenv func(string) string, version string, logger *slog.Logger,
) (Traces, error) {
	const protocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
	if asked := cmp.Or(
		getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), getenv(protocol), "grpc",
	); asked != "grpc" {
		return Traces{}, usage.Errorf(
			"%s is %s: --traces (%s) supports grpc only", protocol, asked, usage.Env("traces"),
		)
	}
	exporter, err := otlptracegrpc.New(ctx) // does not connect yet
	if err != nil {
		return Traces{}, usage.Errorf("--traces (%s): %w", usage.Env("traces"), err)
	}
	described, err := resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", "linkledger"),
			attribute.String("service.version", version),
		),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return Traces{}, usage.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		logger.WarnContext(ctx, "traces are lost", slog.Any("error", err))
	}))
	return Traces{
		sdktrace.NewTracerProvider(
			sdktrace.WithBatcher(exporter), sdktrace.WithResource(described),
		),
	}, nil
}

// Tracer returns a tracer. It returns nil if nothing is traced.
func (t Traces) Tracer() trace.Tracer {
	if t.provider == nil {
		return nil
	}
	return t.provider.Tracer("linkledger")
}

// Close sends the remaining spans. The error handler logs the spans that cannot be sent.
func (t Traces) Close() {
	if t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx)
}
