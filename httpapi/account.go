package httpapi

import "cmp"

const (
	// never is the last day of accounts that have none: the contract wants a date.
	never    = "9999-12-31"
	endOfDay = " 23:59:59"
)

type accountAnswer struct {
	envelope
	Account accountRecord `json:"account"`
}

type accountRecord struct {
	UserID         string                   `json:"user_id"`
	Username       string                   `json:"username"`
	CustomDomain   string                   `json:"custom_domain"`
	ExpirationDate string                   `json:"account_expiration_date"`
	Plan           string                   `json:"subscription_plan"`
	Counters       map[string]counterRecord `json:"counters"`
}

type counterRecord struct {
	Count int64 `json:"count"`
	Limit int64 `json:"limit"` // 0: none
}

func (s *server) readAccount(e *exchange) (any, error) {
	counters, err := s.cfg.Queries.AccountCounters(e.context(), e.account.ID, s.cfg.Now())
	if err != nil {
		return nil, answered(err)
	}
	return accountAnswer{envelope: succeeded(), Account: accountRecord{
		UserID: e.account.ID.String(), Username: e.account.Username, Plan: e.account.Plan,
		ExpirationDate: cmp.Or(e.account.ExpirationDate, never) + endOfDay,
		Counters: map[string]counterRecord{
			"urls":       {Count: counters.URLs},
			"month_urls": {Count: counters.MonthURLs},
		},
	}}, nil
}
