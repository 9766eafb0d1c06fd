// Package proofs handles calls that prove what the log has of an account's links, and that check
// such proofs.
package proofs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"linkledger/commands/proofs"
	"linkledger/httpapi/apierror"
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
	// ownBodies is how many times as large the bodies of pages may be. They have as JSON, with
	// quotes and line ends escaped, the file that a form of the permitted size has as it is.
	ownBodies = 3
	// maxWaiting is the most checks and proofs of one account that wait on a node.
	maxWaiting = 4
	// maxReason bounds the reason for which a file proves nothing, because it may quote the file.
	maxReason = 300 // code points
)

// Handler handles calls about proofs.
type Handler struct {
	Prover    *proofs.Prover // nil: this service has no key
	Waiter    *catchup.Waiter
	BodyLimit int64 // bytes
	Turns     *turn.Queues
}

// NewTurns returns the queues in which the checks and proofs of each account take turns, because
// each of them reads many events or hashes.
func NewTurns() *turn.Queues {
	return turn.New(1, maxWaiting, apierror.TooMany(
		"Too many checks and proofs of this account wait for their turn, repeat the call when "+
			"some are done", time.Second,
	))
}

// head is a signed head of the log.
type head struct {
	Events    int64  `json:"events"`     // that it commits to
	Root      string `json:"root"`       // hash of the Merkle tree over them, in base64
	Signed    string `json:"signed"`     // the note to keep
	PublicKey string `json:"public_key"` // verifies it
}

type headResponse struct {
	response.Envelope
	Head head `json:"head"`
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
	return headResponse{response.Succeeded(), h.headOf(signed)}, nil
}

func (h *Handler) headOf(signed proofs.Head) head {
	return head{
		Events: signed.N, Root: signed.Hash.String(), Signed: signed.Signed,
		PublicKey: h.Prover.PublicKey(),
	}
}

var errNoKey = apierror.WrongInput(
	"This service has no key to sign with: its operator gives it one with --signing-key",
)

// failed returns the error of a call that cannot read the tree. An event that is not in the tree is
// no outage: somebody has altered the log or the tree.
func failed(err error) error {
	if proofs.IsUnproven(err) || errors.Is(err, queries.ErrNotFound) {
		//nolint:errorlint // the answer must not be that a link is not found
		return fmt.Errorf("the log or its tree was altered, audit verify says where: %v", err)
	}
	return apierror.Unavailable(err)
}

type proofResponse struct {
	response.Envelope
	Proof proofRecord   `json:"proof"`
	Page  response.Page `json:"page"` // the page of the history
}

type proofRecord struct {
	File    string `json:"file"`     // as linkledger audit verify-proof takes it
	Events  int    `json:"events"`   // that it proves
	LeftOut int    `json:"left_out"` // events of the page that others have caused
	Head    head   `json:"head"`
}

// OfLink returns a file of proofs of the events of a page of a link's history.
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
	return proofResponse{
		Envelope: response.Succeeded(),
		Proof: proofRecord{
			File: file.String(), Events: selected.Count(), LeftOut: selected.LeftOut,
			Head: h.headOf(signed),
		},
		Page: response.Page{
			ResultsCount: selected.Count() + selected.LeftOut,
			TotalCount:   int64(selected.Total), Offset: asked.Offset,
		},
	}, nil
}

type checkResponse struct {
	response.Envelope
	Check checkRecord `json:"check"`
}

type checkRecord struct {
	Valid  bool   `json:"valid"`
	Reason string `json:"reason,omitempty"` // why it is not valid
	// InLog reports that the log still begins with the events that the head of the file commits to,
	// or that it has each event of an export.
	InLog  bool           `json:"in_log"`
	Head   *head          `json:"head"`   // null: the file is not valid, or an export
	Export *exportRecord  `json:"export"` // null: the file is none
	Events []provenRecord `json:"events"`
}

// exportRecord is a file of exported events.
type exportRecord struct {
	Account *string `json:"account"` // id; null: it has the events of all accounts
	Events  int64   `json:"events"`
	Root    string  `json:"root"` // hash of the Merkle tree over them, in base64
}

// provenRecord is an event that the file proves, as the log has it.
type provenRecord struct {
	Index    int64     `json:"index"` // in the log, from 0
	Position uint64    `json:"position"`
	Stream   string    `json:"stream"`
	Revision int64     `json:"revision"`
	Type     string    `json:"type"`
	Time     time.Time `json:"time"`
	Data     string    `json:"data"` // as it is stored
}

// Check checks a file of proofs of this service, or of events that were exported from it.
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
	resp := checkResponse{
		Envelope: response.Succeeded(), Check: checkRecord{Events: []provenRecord{}},
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

func (h *Handler) checkProof(c *request.Context, file string, into *checkRecord) error {
	checked, err := h.Prover.Check(c.Context(), strings.NewReader(file))
	if err != nil {
		return err
	}
	signed := h.headOf(checked.Head)
	into.Head, into.InLog = &signed, checked.InLog
	for _, event := range checked.Events {
		into.Events = append(into.Events, provenRecord{
			Index: event.Index, Position: event.Position.Commit, Stream: event.Stream,
			Revision: int64(event.Revision), Type: event.Type, Time: event.Time,
			Data: string(event.Data),
		})
	}
	return nil
}

func (h *Handler) checkExport(c *request.Context, file string, into *checkRecord) error {
	exported, err := proofs.ReadExport(file)
	if err != nil {
		return err
	}
	into.Export = &exportRecord{Events: exported.Events, Root: exported.Root}
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
