package domain

// Plan has the limits of an account. 0 means no limit.
type Plan struct {
	URLs      int64 // links at a time
	MonthURLs int64 // links created in a calendar month, UTC, deleted ones included
	DayCalls  int64 // API calls on a day, UTC
}

// LimitsURLs reports whether the plan limits the number of links.
func (p Plan) LimitsURLs() bool { return p.URLs > 0 || p.MonthURLs > 0 }
