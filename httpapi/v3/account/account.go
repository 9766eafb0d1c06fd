// Package account handles calls about the calling account, and meters its calls.
package account

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"linkledger/commands/domain"
	"linkledger/commands/metering"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/asof"
	"linkledger/queries"
	"linkledger/queries/accountlist"
	"linkledger/queries/linklist"
	"linkledger/tagexpr"
)

const (
	// noExpirationDate stands for the expiration date of accounts that have none, because the
	// contract requires a date.
	noExpirationDate = "9999-12-31"
	endOfDay         = " 23:59:59"
)

// Handler handles calls about the calling account, and meters its calls.
type Handler struct {
	Queries    *queries.DB
	Lists      *linklist.Reader
	UsageMeter *metering.Meter
	Plans      map[string]domain.Plan // by name
	AsOf       asof.Reader
}

// Read returns the account, now or as of a time.
func (h *Handler) Read(c *request.Context) (any, error) {
	query, err := decode.Query(c)
	if err != nil {
		return nil, err
	}
	at, err := h.AsOf.Time(c, query)
	if err != nil {
		return nil, err
	}
	if !at.IsZero() {
		return h.readAccountAt(c, at)
	}
	counters, err := h.Queries.AccountCounters(c.Context(), c.Account.ID, h.AsOf.Now())
	if err == nil && c.Bound != nil {
		counters, err = h.boundCounters(c, h.AsOf.Now(), time.Time{})
	}
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	resp := h.newResponse(c.Account, counters)
	resp.Account.Counters["today_api_calls"] = contract.Counter{
		Count: h.UsageMeter.Today(c.Context(), c.Account.ID.String()), Limit: h.plan(c).DayCalls,
	}
	return resp, nil
}

// readAccountAt returns the account as of a time. The response has no counter of API calls, because
// their number is known only for today.
func (h *Handler) readAccountAt(c *request.Context, at time.Time) (any, error) {
	account, counters, err := h.Queries.AccountAt(c.Context(), c.Account.ID, at)
	if errors.Is(err, queries.ErrNotFound) {
		return nil, &apierror.Error{
			Code:    apierror.CodeInvalidDate,
			Details: "The account was opened on " + c.Account.CreatedAt.Format(time.RFC3339),
		}
	}
	if err == nil && c.Bound != nil {
		counters, err = h.boundCounters(c, at, at)
	}
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	resp := h.newResponse(account, counters)
	resp.Past = asof.PastOf(at)
	return resp, nil
}

// boundCounters counts the URLs that the key of the call sees: all of them, and those created in
// the month of the time now. It counts the URLs that existed at the time at. If at is zero, it
// counts the present URLs.
func (h *Handler) boundCounters(
	c *request.Context, now, at time.Time,
) (counters accountlist.Counters, err error) {
	now = now.UTC()
	lastMonth := time.Date(now.Year(), now.Month(), 0, 0, 0, 0, 0, time.UTC)
	for _, counted := range []struct {
		tags *tagexpr.Expr
		into *int64
	}{{nil, &counters.URLs}, {tagexpr.CreatedAfter(lastMonth), &counters.MonthURLs}} {
		found, err := h.Lists.Links(
			c.Context(), linklist.Query{Owner: c.Owner(), At: at, Tags: counted.tags},
		)
		if err != nil {
			return accountlist.Counters{}, err
		}
		*counted.into = found.Total
	}
	return counters, nil
}

func (h *Handler) newResponse(
	account accountlist.Account, counters accountlist.Counters,
) contract.AccountAnswer {
	plan := h.Plans[account.Plan]
	return contract.AccountAnswer{Envelope: response.Succeeded(), Account: contract.Account{
		UserID: account.ID.String(), Username: account.Username, Plan: account.Plan,
		ExpirationDate: cmp.Or(account.ExpirationDate, noExpirationDate) + endOfDay,
		Counters: map[string]contract.Counter{
			"urls":       {Count: counters.URLs, Limit: plan.URLs},
			"month_urls": {Count: counters.MonthURLs, Limit: plan.MonthURLs},
		},
	}}
}

// plan returns the plan of the calling account.
func (h *Handler) plan(c *request.Context) domain.Plan { return h.Plans[c.Account.Plan] }

// Meter counts an API call. It refuses the call if the account has no calls left today. Calls that
// pages of the console make are not counted, because people cannot tell how many a page makes.
func (h *Handler) Meter(c *request.Context) error {
	if c.Own {
		return nil
	}
	limit := h.plan(c).DayCalls
	if h.UsageMeter.Count(c.Account.ID.String(), limit) {
		return nil
	}
	now := h.AsOf.Now().UTC()
	return &apierror.Error{
		Code: apierror.CodeCallLimit,
		Details: fmt.Sprintf(
			"The account's %d API calls of this day are used, more follow at 00:00 UTC", limit,
		),
		RetryAfter: now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now),
	}
}
