package httpapi

import (
	"cmp"
	"fmt"
	"time"

	"linkledger/commands"
)

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
	plan := s.plan(e)
	return accountAnswer{envelope: succeeded(), Account: accountRecord{
		UserID: e.account.ID.String(), Username: e.account.Username, Plan: e.account.Plan,
		ExpirationDate: cmp.Or(e.account.ExpirationDate, never) + endOfDay,
		Counters: map[string]counterRecord{
			"urls":            {Count: counters.URLs, Limit: plan.URLs},
			"month_urls":      {Count: counters.MonthURLs, Limit: plan.MonthURLs},
			"today_api_calls": {Count: s.cfg.Calls.Today(e.context(), e.account.ID.String()), Limit: plan.DayCalls},
		},
	}}, nil
}

// plan is what the account that asks may use.
func (s *server) plan(e *exchange) commands.Plan { return s.cfg.Plans[e.account.Plan] }

// meter counts an API call, or refuses it when the day's calls are used.
func (s *server) meter(e *exchange) error {
	limit := s.plan(e).DayCalls
	if s.cfg.Calls.Count(e.account.ID.String(), limit) {
		return nil
	}
	now := s.cfg.Now().UTC()
	return &apiError{
		code: codeCallLimit, details: fmt.Sprintf("The account's %d API calls of this day are used, more follow at 00:00 UTC", limit),
		retryAfter: now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now),
	}
}
