package httpapi

import (
	"errors"
	"net/url"
	"time"

	"linkledger/queries"
)

// dimensionsAnswer answers calls about what clicks tell of their visitors.
type dimensionsAnswer struct {
	envelope
	Dimensions dimensionsRecord `json:"dimensions"`
}

// dimensionsRecord has the values of each dimension, the most frequent first. Clicks that tell none are left out.
type dimensionsRecord struct {
	Hash     string        `json:"hash"`
	Referrer []valueRecord `json:"referrer"`
	Country  []valueRecord `json:"country"`
	Browser  []valueRecord `json:"browser"`
	OS       []valueRecord `json:"os"`
	Device   []valueRecord `json:"device"`
}

type valueRecord struct {
	Value  string `json:"value"` // "other": all that have no entry
	Clicks int64  `json:"clicks"`
}

// readDimensions counts the clicks on a URL by what they tell of their visitors.
func (s *server) readDimensions(e *exchange) (any, error) {
	of, err := s.dimensionsOf(e)
	if err != nil {
		return nil, err
	}
	s.awaitClicks(e, projectionDimensions)
	values, err := s.cfg.Queries.Dimensions(e.context(), of)
	if err != nil {
		return nil, answered(err)
	}
	record := dimensionsRecord{
		Hash: of.Hash, Referrer: []valueRecord{}, Country: []valueRecord{}, Browser: []valueRecord{}, OS: []valueRecord{},
		Device: []valueRecord{},
	}
	lists := map[string]*[]valueRecord{
		"referrer": &record.Referrer, "country": &record.Country, "browser": &record.Browser, "os": &record.OS,
		"device": &record.Device,
	}
	for _, v := range values {
		if list, ok := lists[v.Dimension]; ok {
			*list = append(*list, valueRecord{v.Value, v.Clicks})
		}
	}
	return dimensionsAnswer{envelope: succeeded(), Dimensions: record}, nil
}

func (s *server) dimensionsOf(e *exchange) (queries.DimensionsOf, error) {
	hash, err := pathHash(e)
	if err != nil {
		return queries.DimensionsOf{}, err
	}
	query, err := parameters(e)
	if err != nil {
		return queries.DimensionsOf{}, err
	}
	list := listing{Limit: s.cfg.PageSize}
	of := queries.DimensionsOf{Account: e.account.ID, Hash: hash}
	if err := errors.Join(number(query, "limit", &list.Limit), calendarDate(query, "from", &of.From), calendarDate(query, "to", &of.To)); err != nil {
		return queries.DimensionsOf{}, err
	}
	of.Limit = min(list.Limit, s.cfg.MaxPageSize)
	return of, check(list, "")
}

// calendarDate reads a parameter that is a calendar date, if it is given.
func calendarDate(query url.Values, name string, into *time.Time) error {
	text := query.Get(name)
	if text == "" {
		return nil
	}
	var err error
	if *into, err = time.Parse(time.DateOnly, text); err != nil || into.Year() < 1 { // PostgreSQL has no year 0
		return &apiError{code: codeInvalidDate, details: name + " must be a calendar date in the form YYYY-MM-DD"}
	}
	return nil
}
