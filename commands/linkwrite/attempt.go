// Package linkwrite finds the link that a command names, if the caller sees it, and appends changes
// of the link. It does not decide what changes.
package linkwrite

import (
	"context"
	"log/slog"

	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/permit"
	"linkledger/commands/streams"
	"linkledger/events"
)

// Links are the links of all accounts. They are safe for concurrent use.
type Links struct {
	streams *streams.Streams
	hashes  *hashes.Claims
	logger  *slog.Logger
}

// New returns Links. logger logs failures that do not make a command fail.
func New(streams *streams.Streams, claims *hashes.Claims, logger *slog.Logger) *Links {
	return &Links{streams: streams, hashes: claims, logger: logger}
}

// Attempt is one attempt of a command. It reads the tags of the account at most once, if the bound
// of the caller needs them. It MUST NOT be used concurrently.
type Attempt struct {
	links   *Links
	request domain.Request

	tags     domain.Tags
	tagsRead bool
	unknown  bool // the tags cannot be decoded
}

// Attempt begins an attempt of the command of a request.
func (l *Links) Attempt(r domain.Request) *Attempt { return &Attempt{links: l, request: r} }

// Reading is how a command reads the stream of a link.
type Reading bool

// The ways of reading.
const (
	Whole Reading = true
	// Ending leaves out events that cannot be decoded. It is for commands that only end a link.
	Ending Reading = false
)

// Change finds a link and appends the events that decide returns. If the command has run before,
// Change appends nothing.
func (a *Attempt) Change(
	ctx context.Context, read Reading, ref Ref, decide func(domain.Link) ([]events.Event, error),
) (Outcome, error) {
	url, loaded, err := a.Find(ctx, read, ref)
	if err != nil {
		return Outcome{}, err
	}
	if loaded.Has(a.request.Command, events.LinkStream(url.ID)) {
		return Outcome{URL: url, Position: loaded.Position()}, nil
	}
	changes, err := decide(url)
	if err != nil {
		return Outcome{}, err
	}
	return a.Commit(ctx, url, loaded, changes)
}

// Commit appends changes to the stream of a loaded link. If the changes make the link leave its
// hash, Commit releases the hash. It returns eventstore.ErrWrongRevision if another writer was
// faster.
func (a *Attempt) Commit(
	ctx context.Context, url domain.Link, loaded streams.History, changes []events.Event,
) (Outcome, error) {
	if len(changes) == 0 {
		return Outcome{URL: url, Position: loaded.Position()}, nil
	}
	appended, err := a.links.streams.Append(
		ctx, a.request, events.LinkStream(url.ID), loaded.Revision(), changes...,
	)
	if err != nil {
		return Outcome{}, err
	}
	before := url
	for _, e := range changes {
		url.Apply(e)
	}
	if before.Live() && (url.Deleted || url.Hash != before.Hash) {
		a.releaseAfter(ctx, before.Hash, url)
	}
	return Outcome{URL: url, Position: appended.Position, Changed: true}, nil
}

// releaseAfter releases a hash that a link has left. A failure is logged only: the link's own
// events show that it left the hash, so the account may claim the hash again either way.
func (a *Attempt) releaseAfter(ctx context.Context, hash string, url domain.Link) {
	ctx = permit.Without(ctx) // the change has been made, and the release completes it
	err := a.links.hashes.Release(ctx, a.request, hash, url.ID, url.SpentRevision(hash))
	if err != nil {
		a.links.logger.WarnContext(
			ctx, "hash not released: the link that left it still claims it, but its account can "+
				"use it again",
			slog.String("hash", hash), slog.String("url", url.ID), slog.Any("error", err))
	}
}
