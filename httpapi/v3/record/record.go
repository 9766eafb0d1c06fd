// Package record builds the JSON records of URLs. It decides which fields of a URL a caller sees:
// the scope links:read shows what the owner has set, and the scope stats:read shows the clicks.
package record

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/linkwrite"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/shortlink"
	"linkledger/httpapi/v3/catchup"
	"linkledger/queries"
)

// Builder builds the records of URLs.
type Builder struct {
	Base    shortlink.Base
	Queries *queries.DB
	Waiter  *catchup.Waiter
	Logger  *slog.Logger
}

// Of returns the record of a link for a caller with the scope links:read.
func (b *Builder) Of(c *request.Context, link queries.Link) any {
	r := b.of(c, link)
	return &r
}

func (b *Builder) of(c *request.Context, link queries.Link) contract.URL {
	r := Plain(b.Base.Of(c.Request), link)
	r.Clicks, r.Tags = clicksOf(c, link), Labels(c, link.Tags)
	return r
}

// Plain returns the record of a link without its clicks. base is the address of the short links,
// such as https://sho.rt.
func Plain(base string, link queries.Link) contract.URL {
	short := base + "/" + link.Hash
	_, host, _ := strings.Cut(base, "://")
	return contract.URL{
		Hash:                 link.Hash,
		LongURL:              link.LongURL,
		ShortURL:             host + "/" + link.Hash,
		ShortURLWithProtocol: short,
		Note:                 link.Note,
		Settings:             contract.Settings(link.Record()),
		Tags:                 link.Tags,
		CreatedAt:            response.Time(link.CreatedAt),
		ModifiedAt:           response.Time(link.ModifiedAt),
		Links: contract.Links{
			QRSmall: short + shortlink.QRPath + "?size=" + shortlink.QRSmall,
			QRBig:   short + shortlink.QRPath + "?size=" + shortlink.QRBig,
		},
	}
}

// clicksOf returns the clicks of a link, or nil if the caller may not see them.
func clicksOf(c *request.Context, link queries.Link) *contract.Clicks {
	if !c.Scopes().Have(access.StatsRead) {
		return nil
	}
	return &contract.Clicks{
		TotalClicks: link.TotalClicks, UniqueClicks: link.UniqueClicks,
		LastVisit: response.TimeOrNull(link.LastVisit), Visited: link.Visited,
	}
}

// LinkOf returns a link as its command has left it. The link has no clicks, because commands do not
// know them.
func LinkOf(outcome linkwrite.Outcome) queries.Link {
	u := outcome.URL
	return queries.Link{
		Hash:       u.Hash,
		LongURL:    u.LongURL,
		Note:       u.Note,
		Settings:   u.Settings,
		Tags:       outcome.Labels,
		CreatedAt:  u.CreatedAt,
		ModifiedAt: u.ModifiedAt,
	}
}

// WithClicks returns the links of the outcomes with their clicks from the read model. Everything
// else is as the commands left it, even if the read model lags behind. If the read model is
// unavailable, the links have no clicks. This is no error, because the write is durable, so the
// client MUST get a success.
func (b *Builder) WithClicks(c *request.Context, outcomes []linkwrite.Outcome) []queries.Link {
	links := make([]queries.Link, len(outcomes))
	ids := make([]uuid.UUID, 0, len(outcomes))
	for i, outcome := range outcomes {
		links[i] = LinkOf(outcome)
		if id, err := uuid.Parse(outcome.URL.ID); err == nil {
			links[i].ID = id
			ids = append(ids, id)
		}
	}
	// The caller has waited for the writes of the commands. For a command that wrote nothing it has
	// not waited, so the read models may still lack recent clicks of the link.
	unchanged := func(o linkwrite.Outcome) bool { return o.Err == nil && !o.Changed }
	if c.Scopes().Have(access.StatsRead) && slices.ContainsFunc(outcomes, unchanged) {
		b.Waiter.AwaitClicks(c, catchup.Links)
	}
	seen, err := b.Queries.LinksByID(c.Context(), ids)
	if err != nil {
		b.Logger.WarnContext(c.Context(), "write answered without its clicks",
			slog.String("request", c.ID), slog.Any("error", err))
	}
	for i, outcome := range outcomes {
		known, ok := seen[links[i].ID]
		if !ok {
			continue
		}
		links[i].TotalClicks, links[i].UniqueClicks = known.TotalClicks, known.UniqueClicks
		links[i].LastVisit, links[i].Visited = known.LastVisit, known.Visited
		if outcome.Labels == nil { // a repeated creation may have only the ids of its tags
			links[i].Tags = known.Tags
		}
	}
	return links
}
