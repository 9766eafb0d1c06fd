package httpapi

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/queries"
)

// record is a URL as the API shows it.
type record struct {
	Hash                 string      `json:"hash"`
	LongURL              string      `json:"long_url"`
	ShortURL             string      `json:"short_url"`
	ShortURLWithProtocol string      `json:"short_url_with_protocol"`
	TotalClicks          int64       `json:"total_clicks"`
	UniqueClicks         int64       `json:"unique_clicks"`
	LastVisit            *timestamp  `json:"last_visit"`
	Visited              bool        `json:"visited"`
	EmailStats           bool        `json:"email_stats"`
	Protected            bool        `json:"protected"`
	Ping                 bool        `json:"ping"`
	Archived             bool        `json:"archived"`
	Note                 string      `json:"note"`
	ExpirationDate       *string     `json:"expiration_date"`
	MaxClicks            int64       `json:"max_clicks"`
	Tags                 []string    `json:"tags"`
	CreatedAt            timestamp   `json:"created_at"`
	ModifiedAt           timestamp   `json:"modified_at"`
	Links                recordLinks `json:"links"`
	Error                *itemError  `json:"error,omitempty"` // of creations and edits
}

type recordLinks struct {
	QRSmall string `json:"qr_small"`
	QRBig   string `json:"qr_big"`
}

// failedItem is an item of a batch that was refused.
type failedItem struct {
	Hash       string     `json:"hash,omitempty"` // of the URL to edit
	LongURL    *string    `json:"long_url"`
	CustomHash *string    `json:"custom_hash"`
	Error      *itemError `json:"error"`
}

// records makes the records of URLs.
type records struct {
	Base    shortBase
	Queries *queries.DB
	Waiter  *waiter
	Logger  *slog.Logger
}

// of returns the record of a URL that the read models have.
func (rs *records) of(c *exchange, link queries.Link) record {
	base := rs.Base.of(c.request)
	short := base + "/" + link.Hash
	_, host, _ := strings.Cut(base, "://")
	r := record{
		Hash: link.Hash, LongURL: link.LongURL, ShortURL: host + "/" + link.Hash, ShortURLWithProtocol: short,
		TotalClicks: link.TotalClicks, UniqueClicks: link.UniqueClicks, LastVisit: (*timestamp)(link.LastVisit),
		Visited: link.Visited, EmailStats: link.EmailStats, Protected: link.Protected, Ping: link.Ping,
		Archived: link.Archived, Note: link.Note, MaxClicks: link.MaxClicks, Tags: link.Tags,
		CreatedAt: timestamp(link.CreatedAt), ModifiedAt: timestamp(link.ModifiedAt),
		Links: recordLinks{
			QRSmall: short + qrPath + "?size=" + qrSmall,
			QRBig:   short + qrPath + "?size=" + qrBig,
		},
	}
	if link.ExpirationDate != "" {
		r.ExpirationDate = &link.ExpirationDate
	}
	if r.Tags == nil {
		r.Tags = []string{}
	}
	return r
}

// written returns the record of a URL that a command made or changed.
func (rs *records) written(c *exchange, link queries.Link) record {
	r := rs.of(c, link)
	r.Error = itemOf(failure{})
	return r
}

// linkOf returns the link as its command left it. The write side counts no clicks.
func linkOf(outcome commands.URLOutcome) queries.Link {
	u := outcome.URL
	return queries.Link{
		Hash: u.Hash, LongURL: u.LongURL, Note: u.Note, EmailStats: u.EmailStats, Ping: u.Ping, Protected: u.Protected,
		Archived: u.Archived, ExpirationDate: u.ExpirationDate, MaxClicks: u.MaxClicks, Tags: outcome.Labels,
		CreatedAt: u.CreatedAt, ModifiedAt: u.ModifiedAt,
	}
}

// counted returns the links of the outcomes with the clicks that the read model has for them. Everything else is
// as the commands left it, also where the read model lags behind. Without the read model the clicks are missing: the
// write is done, and its client must learn so.
func (rs *records) counted(c *exchange, outcomes []commands.URLOutcome) []queries.Link {
	links := make([]queries.Link, len(outcomes))
	ids := make([]uuid.UUID, 0, len(outcomes))
	for i, outcome := range outcomes {
		links[i] = linkOf(outcome)
		if id, err := uuid.Parse(outcome.URL.ID); err == nil {
			links[i].ID = id
			ids = append(ids, id)
		}
	}
	if slices.ContainsFunc(outcomes, func(o commands.URLOutcome) bool { return o.Err == nil && !o.Changed }) {
		rs.Waiter.awaitClicks(c, projectionLinks) // they may be newer than what such a write has waited for
	}
	seen, err := rs.Queries.LinksByID(c.context(), ids)
	if err != nil {
		rs.Logger.WarnContext(c.context(), "write answered without its clicks", slog.String("request", c.id), slog.Any("error", err))
	}
	for i, outcome := range outcomes {
		known, ok := seen[links[i].ID]
		if !ok {
			continue
		}
		links[i].TotalClicks, links[i].UniqueClicks = known.TotalClicks, known.UniqueClicks
		links[i].LastVisit, links[i].Visited = known.LastVisit, known.Visited
		if outcome.Labels == nil { // a repeated creation may know no more than ids
			links[i].Tags = known.Tags
		}
	}
	return links
}
