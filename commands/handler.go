package commands

import (
	"log/slog"

	"linkledger/commands/destination"
	"linkledger/commands/hashes"
	"linkledger/commands/linkquota"
	"linkledger/commands/linkwrite"
	"linkledger/commands/longurls"
	"linkledger/commands/restoring"
	"linkledger/commands/streams"
)

// Config of a Handler.
type Config struct {
	Streams *streams.Streams
	// Logger logs failures that do not make a command fail. If nil, they are not logged.
	Logger *slog.Logger
	// Destinations say where links may lead to.
	Destinations destination.Rules
	// Quotas keep the number of links of an account within its plan. If nil, Request.Plan must have
	// no limits.
	Quotas *linkquota.Quotas
}

// Handler runs commands. Its Restorer restores links and undoes changes. It is safe for concurrent
// use.
type Handler struct {
	*restoring.Restorer

	cfg      Config
	links    *linkwrite.Links
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
	links := linkwrite.New(cfg.Streams, claims, cfg.Logger)
	return &Handler{
		Restorer: restoring.New(restoring.Config{
			Streams: cfg.Streams, Links: links, Hashes: claims,
			Destinations: cfg.Destinations, Quotas: cfg.Quotas,
		}),
		cfg: cfg, links: links, streams: cfg.Streams, hashes: claims,
		longURLs: longurls.New(cfg.Streams, claims),
	}
}
