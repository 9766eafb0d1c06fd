package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/queries"
)

const (
	// never is the last day of accounts that have none: the contract wants a date.
	never    = "9999-12-31"
	endOfDay = " 23:59:59"
)

// accountHandler answers calls about the account that asks, and counts its calls.
type accountHandler struct {
	Queries *queries.DB
	Calls   *commands.Calls
	Plans   map[string]domain.Plan // by name
	AsOf    asOfReader
}

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

func (h *accountHandler) readAccount(c *exchange) (any, error) {
	query, err := parameters(c)
	if err != nil {
		return nil, err
	}
	at, err := h.AsOf.moment(c, query)
	if err != nil {
		return nil, err
	}
	if !at.IsZero() {
		return h.readAccountAt(c, at)
	}
	counters, err := h.Queries.AccountCounters(c.context(), c.account.ID, h.AsOf.Now())
	if err != nil {
		return nil, answered(err)
	}
	answer := h.accountAnswer(c.account, counters)
	answer.Account.Counters["today_api_calls"] = counterRecord{
		Count: h.Calls.Today(c.context(), c.account.ID.String()), Limit: h.plan(c).DayCalls,
	}
	return answer, nil
}

// readAccountAt answers with the account as it was. How many calls it had made that day is known of today alone.
func (h *accountHandler) readAccountAt(c *exchange, at time.Time) (any, error) {
	account, counters, err := h.Queries.AccountAt(c.context(), c.account.ID, at)
	if errors.Is(err, queries.ErrNotFound) {
		return nil, &apiError{code: codeInvalidDate, details: "The account was opened on " + c.account.CreatedAt.Format(time.RFC3339)}
	}
	if err != nil {
		return nil, answered(err)
	}
	answer := h.accountAnswer(account, counters)
	answer.Past = pastOf(at)
	return answer, nil
}

func (h *accountHandler) accountAnswer(account queries.Account, counters queries.Counters) accountAnswer {
	plan := h.Plans[account.Plan]
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
func (h *accountHandler) plan(c *exchange) domain.Plan { return h.Plans[c.account.Plan] }

// meter counts an API call, or refuses it when the day's calls are used.
func (h *accountHandler) meter(c *exchange) error {
	limit := h.plan(c).DayCalls
	if h.Calls.Count(c.account.ID.String(), limit) {
		return nil
	}
	now := h.AsOf.Now().UTC()
	return &apiError{
		code: codeCallLimit, details: fmt.Sprintf("The account's %d API calls of this day are used, more follow at 00:00 UTC", limit),
		retryAfter: now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now),
	}
}
