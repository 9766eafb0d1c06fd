package signin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"linkledger/commands/domain"
	"linkledger/condition"
	"linkledger/httpapi/apierror"
)

const (
	// discoveryInterval is the pause between two attempts to reach an issuer that does not answer.
	discoveryInterval = 10 * time.Second
	// accountsInterval is the pause between two checks whether the accounts of groups exist.
	accountsInterval = time.Minute
)

// fault is something that keeps people from signing in until an operator mends it. It is logged
// while it lasts. It is safe for concurrent use.
type fault struct {
	log *condition.Log

	mu  sync.Mutex
	err error // nil: there is none
}

func newFault(logger *slog.Logger, begin, over string) *fault {
	return &fault{log: condition.New(logger, begin, over)}
}

// report sets the fault. A nil error means that there is none.
func (f *fault) report(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.log.Report(context.Background(), err)
}

// last returns what was reported last.
func (f *fault) last() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// again logs the fault again if there is one. While nobody signs in, nothing else reports it.
func (f *fault) again() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		f.log.Report(context.Background(), f.err)
	}
}

// Fault returns the faults that keep people from signing in, or from getting the roles of their
// groups, until an operator mends them. It returns nil if none is known.
func (h *Handler) Fault() error {
	return errors.Join(h.issuer.last(), h.client.last(), h.missing.last())
}

// Watch looks for faults that keep people from signing in, until ctx ends.
func (h *Handler) Watch(ctx context.Context) {
	discoveries := time.NewTicker(discoveryInterval)
	defer discoveries.Stop()
	looks := time.NewTicker(accountsInterval)
	defer looks.Stop()
	h.checkAccounts(ctx)
	for {
		_ = h.provider.Discover(ctx) // OnDiscovery reports its error
		h.client.again()
		h.missing.again()
		select {
		case <-discoveries.C:
		case <-looks.C:
			h.checkAccounts(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// checkAccounts reports accounts that do not exist although groups have roles in them. If the event
// store does not answer, the last report stays.
func (h *Handler) checkAccounts(ctx context.Context) {
	var missing []string
	for _, of := range h.Groups {
		if of.Operator || slices.Contains(missing, of.Account) {
			continue
		}
		_, err := h.Accounts.ID(ctx, of.Account)
		switch {
		case apierror.RefusedAs(err, domain.AccountNotFound):
			missing = append(missing, of.Account)
		case err != nil:
			return
		}
	}
	if len(missing) == 0 {
		h.missing.report(nil)
		return
	}
	h.missing.report(fmt.Errorf(
		"groups have roles in accounts that do not exist: %s", strings.Join(missing, ", "),
	))
}
