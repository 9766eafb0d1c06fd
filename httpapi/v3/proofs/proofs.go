// Package proofs handles calls that prove that events of an account's links are in the log, and
// that check such proofs.
package proofs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"linkledger/commands/proofs"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/selection"
	"linkledger/httpapi/v3/turn"
	"linkledger/queries"
)

const (
	// maxEvents is the most events that one call proves.
	maxEvents = 500
	// ownBodies is the factor by which the limit of bodies is larger for calls of the console's
	// pages. A form sends a file raw. The call of the page sends the file as JSON, which escapes
	// quotes and line ends.
	ownBodies = 3
	// maxWaiting is the most checks and proofs of one account that wait on a node.
	maxWaiting = 4
	// maxReason bounds the reason why a file proves nothing, because the reason may quote the file.
	maxReason = 300 // code points
)

// Handler handles calls about proofs.
type Handler struct {
	Prover    *proofs.Prover // nil: this service has no signing key
	Waiter    *catchup.Waiter
	BodyLimit int64 // bytes
	Turns     *turn.Queues
}

// NewTurns returns queues that run one check or proof of each account at a time, because each of
// them reads many events or hashes.
func NewTurns() *turn.Queues {
	return turn.New(1, maxWaiting, apierror.TooMany(
		"Too many checks and proofs of this account wait for their turn, repeat the call when "+
			"some are done", time.Second,
	))
}

// Head returns the signed head of the log.
func (h *Handler) Head(c *request.Context) (any, error) {
	if h.Prover == nil {
		return nil, errNoKey
	}
	signed, err := h.Prover.Head(c.Context())
	if err != nil {
		return nil, failed(err)
	}
	return contract.HeadAnswer{Envelope: response.Succeeded(), Head: h.headOf(signed)}, nil
}

func (h *Handler) headOf(signed proofs.Head) contract.Head {
	return contract.Head{
		Events: signed.N, Root: signed.Hash.String(), Signed: signed.Signed,
		PublicKey: h.Prover.PublicKey(),
	}
}

var errNoKey = apierror.WrongInput(
	"This service has no key to sign with: its operator gives it one with --signing-key",
)

// failed returns the error of a call about a proof or the head. If err means that an event is not
// in the tree, the log or the tree was altered, which is no outage.
func failed(err error) error {
	if proofs.IsUnproven(err) || errors.Is(err, queries.ErrNotFound) {
		//nolint:errorlint // the answer must not be that a link is not found
		return fmt.Errorf("the log or its tree was altered, audit verify says where: %v", err)
	}
	return apierror.Unavailable(err)
}

// OfLink returns a file that proves the events on one page of a link's history.
func (h *Handler) OfLink(c *request.Context) (any, error) {
	if h.Prover == nil {
		return nil, errNoKey
	}
	asked, err := selection.History(
		c, selection.PageSizes{Default: maxEvents, Max: maxEvents},
	)
	if err != nil {
		return nil, err
	}
	end, err := h.Turns.Acquire(c.Context(), c.Account.ID, c.Disconnected)
	if err != nil {
		return nil, err
	}
	defer end()
	selected, err := h.Prover.Select(c.Context(), asked)
	if err != nil {
		return nil, err
	}
	if !h.Waiter.AwaitTree(c, selected.Last()) {
		return nil, apierror.Unavailable(proofs.ErrLags)
	}
	var file strings.Builder
	signed, err := h.Prover.Write(c.Context(), &file, selected)
	if err != nil {
		return nil, failed(err)
	}
	return contract.ProofAnswer{
		Envelope: response.Succeeded(),
		Proof: contract.Proof{
			File: file.String(), Events: selected.Count(), LeftOut: selected.LeftOut,
			Head: h.headOf(signed),
		},
		Page: contract.Page{
			ResultsCount: selected.Count() + selected.LeftOut,
			TotalCount:   int64(selected.Total), Offset: asked.Offset,
		},
	}, nil
}

// Check checks a file that this service has made: proofs, or exported events.
func (h *Handler) Check(c *request.Context) (any, error) {
	if h.Prover == nil {
		return nil, errNoKey
	}
	limit := h.BodyLimit
	if c.Own {
		limit *= ownBodies
	}
	body, err := decode.Body(c, limit)
	if err != nil {
		return nil, err
	}
	file := body.Text("file")
	switch {
	case body.Err != nil:
		return nil, body.Err
	case file == nil:
		return nil, &apierror.Error{Code: apierror.CodeMissingInput, Details: "file is missing"}
	}
	end, err := h.Turns.Acquire(c.Context(), c.Account.ID, c.Disconnected)
	if err != nil {
		return nil, err
	}
	defer end()
	resp := contract.CheckAnswer{
		Envelope: response.Succeeded(), Check: contract.Check{Events: []contract.ProvenEvent{}},
	}
	check := h.checkProof
	if proofs.IsExport(*file) {
		check = h.checkExport
	}
	err = check(c, *file, &resp.Check)
	if proofs.IsUnproven(err) {
		resp.Check.Reason = apierror.Clip(err.Error(), maxReason)
		return resp, nil
	}
	if err != nil {
		return nil, failed(err)
	}
	resp.Check.Valid = true
	return resp, nil
}

func (h *Handler) checkProof(c *request.Context, file string, into *contract.Check) error {
	checked, err := h.Prover.Check(c.Context(), strings.NewReader(file))
	if err != nil {
		return err
	}
	signed := h.headOf(checked.Head)
	into.Head, into.InLog = &signed, checked.InLog
	for _, event := range checked.Events {
		into.Events = append(into.Events, contract.ProvenEvent{
			Index: event.Index, Position: event.Position.Commit, Stream: event.Stream,
			Revision: int64(event.Revision), Type: event.Type, Time: event.Time,
			Data: string(event.Data),
		})
	}
	return nil
}

func (h *Handler) checkExport(c *request.Context, file string, into *contract.Check) error {
	exported, err := proofs.ReadExport(file)
	if err != nil {
		return err
	}
	into.Export = &contract.Export{Events: exported.Events, Root: exported.Root}
	if exported.Account != "" {
		into.Export.Account = &exported.Account
	}
	logged, err := h.Prover.Logged(c.Context(), exported)
	if err != nil || !logged {
		return err
	}
	if !h.Waiter.AwaitTree(c, exported.Last) {
		return apierror.Unavailable(proofs.ErrLags)
	}
	err = h.Prover.CheckExport(c.Context(), exported)
	into.InLog = err == nil
	if errors.Is(err, queries.ErrNotFound) {
		return nil
	}
	return err
}
