package main

import (
	_ "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	_ "github.com/ThreeDotsLabs/watermill/message"
	_ "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	_ "github.com/alecthomas/kong"
	_ "github.com/boombuler/barcode/qr"
	_ "github.com/cockroachdb/pebble/v2"
	_ "github.com/go-playground/validator/v10"
	_ "github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/jedib0t/go-pretty/v6/table"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/uptrace/bun"
	_ "github.com/uptrace/bun/dialect/pgdialect"
	_ "github.com/uptrace/bun/migrate"
	_ "github.com/uptrace/bunrouter"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "google.golang.org/grpc"
	_ "pgregory.net/rapid"
)

func main() {}
