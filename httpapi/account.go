package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"linkledger/commands/domain"
	"linkledger/queries"
)

const (
	// never is the last day of accounts that have none: the contract wants a date.
	never    = "9999-12-31"
	endOfDay = " 23:59:59"
)

type accountAnswer struct {
	envelope
	Account accountRecord `json:"account"`
	Past    *past         `json:"past,omitempty"`
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
	query, err := parameters(e)
	if err != nil {
		return nil, err
	}
	at, err := s.moment(e, query)
	if err != nil {
		return nil, err
	}
	if !at.IsZero() {
		return s.readAccountAt(e, at)
	}
	counters, err := s.cfg.Queries.AccountCounters(e.context(), e.account.ID, s.cfg.Now())
	if err != nil {
		return nil, answered(err)
	}
	answer := s.accountAnswer(e.account, counters)
	answer.Account.Counters["today_api_calls"] = counterRecord{
		Count: s.cfg.Calls.Today(e.context(), e.account.ID.String()), Limit: s.plan(e).DayCalls,
	}
	return answer, nil
}

// readAccountAt answers with the account as it was. How many calls it had made that day is known of today alone.
func (s *server) readAccountAt(e *exchange, at time.Time) (any, error) {
	account, counters, err := s.cfg.Queries.AccountAt(e.context(), e.account.ID, at)
	if errors.Is(err, queries.ErrNotFound) {
		return nil, &apiError{code: codeInvalidDate, details: "The account was opened on " + e.account.CreatedAt.Format(time.RFC3339)}
	}
	if err != nil {
		return nil, answered(err)
	}
	answer := s.accountAnswer(account, counters)
	answer.Past = pastOf(at)
	return answer, nil
}

func (s *server) accountAnswer(account queries.Account, counters queries.Counters) accountAnswer {
	plan := s.cfg.Plans[account.Plan]
	return accountAnswer{envelope: succeeded(), Account: accountRecord{
		UserID: account.ID.String(), Username: account.Username, Plan: account.Plan,
		ExpirationDate: cmp.Or(account.ExpirationDate, never) + endOfDay,
		Counters: map[string]counterRecord{
			"urls":       {Count: counters.URLs, Limit: plan.URLs},
			"month_urls": {Count: counters.MonthURLs, Limit: plan.MonthURLs},
		},
	}}
}

// plan is what the account that asks may use.
func (s *server) plan(e *exchange) domain.Plan { return s.cfg.Plans[e.account.Plan] }

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
