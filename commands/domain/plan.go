package domain

// Plan is what an account may use. The zero value of a limit is none.
type Plan struct {
	URLs      int64 // links at a time
	MonthURLs int64 // links created in a calendar month, UTC, also those deleted since
	DayCalls  int64 // API calls on a day, UTC
}

// LimitsURLs reports whether the plan limits the number of links.
func (p Plan) LimitsURLs() bool { return p.URLs > 0 || p.MonthURLs > 0 }
