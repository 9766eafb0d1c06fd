package httpapi

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

func (s *server) readStats(e *exchange) (any, error) {
	hash, err := pathHash(e)
	if err != nil {
		return nil, err
	}
	s.awaitClicks(e, projectionLinks)
	stats, err := s.cfg.Queries.StatsByHash(e.context(), e.account.ID, hash)
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
func (s *server) resetStats(e *exchange) (any, error) {
	return s.changeOne(e, s.cfg.Commands.ResetStats)
}

// resetSelectedStats does so for the URLs that the parameters select.
func (s *server) resetSelectedStats(e *exchange) (any, error) {
	return s.changeAll(e, s.cfg.Commands.ResetStats)
}
