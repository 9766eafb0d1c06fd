package contract

// Stats are the clicks of a URL.
type Stats struct {
	Hash         string `json:"hash"`
	TotalClicks  int64  `json:"total_clicks"`
	UniqueClicks int64  `json:"unique_clicks"`
	// DailyClicks has the clicks by day (YYYY-MM-DD, UTC). Days without clicks are left out.
	DailyClicks map[string]Day `json:"daily_clicks"`
}

// Day is the clicks of one day.
type Day struct {
	Total  int64 `json:"total"`
	Unique int64 `json:"unique"`
}

// StatsAnswer has the clicks of one URL.
type StatsAnswer struct {
	Envelope
	Stats []Stats `json:"stats"`
}

// Dimensions are the clicks of a URL by dimension, the most frequent value first. Clicks without a
// value are left out.
type Dimensions struct {
	Hash     string           `json:"hash"`
	Referrer []DimensionValue `json:"referrer"`
	Country  []DimensionValue `json:"country"`
	Browser  []DimensionValue `json:"browser"`
	OS       []DimensionValue `json:"os"`
	Device   []DimensionValue `json:"device"`
}

// DimensionValue is one value of a dimension with its clicks.
type DimensionValue struct {
	Value  string `json:"value"` // "other": all values without an entry of their own
	Clicks int64  `json:"clicks"`
}

// DimensionsAnswer has the clicks of a URL by dimension.
type DimensionsAnswer struct {
	Envelope
	Dimensions Dimensions `json:"dimensions"`
}
