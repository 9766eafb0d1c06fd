package commands

import (
	"log/slog"

	"linkledger/commands/destination"
	"linkledger/commands/hashes"
	"linkledger/commands/linkquota"
	"linkledger/commands/longurls"
	"linkledger/commands/streams"
)

// Config of a Handler.
type Config struct {
	Streams *streams.Streams
	// Logger gets failures that are no error of the command. If nil, they are discarded.
	Logger *slog.Logger
	// Destinations say where links may lead to.
	Destinations destination.Rules
	// Quotas reserve the links of accounts with limits. If nil, Request.Plan must have no limits.
	Quotas *linkquota.Quotas
}

// Handler runs commands. It is safe for concurrent use.
type Handler struct {
	cfg      Config
	streams  *streams.Streams
	hashes   *hashes.Claims
	longURLs *longurls.Claims
}

// NewHandler returns a Handler.
func NewHandler(cfg Config) *Handler {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	claims := hashes.New(cfg.Streams)
	return &Handler{
		cfg: cfg, streams: cfg.Streams, hashes: claims,
		longURLs: longurls.New(cfg.Streams, claims),
	}
}
