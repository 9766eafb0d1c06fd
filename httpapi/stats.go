package httpapi

import (
	"linkledger/commands"
	"linkledger/queries"
)

// statsHandler answers calls about what happened to URLs.
type statsHandler struct {
	Commands *commands.Handler
	Queries  *queries.DB
	Changes  *changes
	Waiter   *waiter
	Pages    pageSizes
}

// statsAnswer answers calls about clicks.
type statsAnswer struct {
	envelope
	Stats []statsRecord `json:"stats"`
}

type statsRecord struct {
	Hash         string               `json:"hash"`
	TotalClicks  int64                `json:"total_clicks"`
	UniqueClicks int64                `json:"unique_clicks"`
	DailyClicks  map[string]dayRecord `json:"daily_clicks"` // by day, YYYY-MM-DD, UTC; days without clicks are left out
}

type dayRecord struct {
	Total  int64 `json:"total"`
	Unique int64 `json:"unique"`
}

func (h *statsHandler) readStats(c *exchange) (any, error) {
	hash, err := pathHash(c)
	if err != nil {
		return nil, err
	}
	h.Waiter.awaitClicks(c, projectionLinks)
	stats, err := h.Queries.StatsByHash(c.context(), c.account.ID, hash)
	if err != nil {
		return nil, answered(err)
	}
	r := statsRecord{
		Hash: stats.Hash, TotalClicks: stats.TotalClicks, UniqueClicks: stats.UniqueClicks,
		DailyClicks: make(map[string]dayRecord, len(stats.Daily)),
	}
	for _, day := range stats.Daily {
		r.DailyClicks[day.Date] = dayRecord{Total: day.Total, Unique: day.Unique}
	}
	return statsAnswer{envelope: succeeded(), Stats: []statsRecord{r}}, nil
}

// resetStats makes the clicks on the URL that the path names count from zero.
func (h *statsHandler) resetStats(c *exchange) (any, error) {
	return h.Changes.changeOne(c, h.Commands.ResetStats)
}

// resetSelectedStats does so for the URLs that the parameters select.
func (h *statsHandler) resetSelectedStats(c *exchange) (any, error) {
	return h.Changes.changeAll(c, h.Commands.ResetStats)
}
